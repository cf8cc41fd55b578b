// The report: round ticks, what charts and the page hold, and what is refused.
#include "train/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/check.h"
#include "train/files.h"
#include "train/record/timeline.h"
#include "train/report/chart.h"
#include "train/report/run.h"

namespace yoke::report_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(TicksTest, AreRoundAndCoverTheRange) {
  EXPECT_THAT(RoundTicks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(RoundTicks(0.71, 0.93, 5),
              ElementsAre(testing::DoubleEq(0.7), testing::DoubleEq(0.75), testing::DoubleEq(0.8),
                          testing::DoubleNear(0.85, 1e-9), testing::DoubleNear(0.9, 1e-9),
                          testing::DoubleNear(0.95, 1e-9)));
  EXPECT_THAT(RoundTicks(0, 2, 7, /*whole=*/true), ElementsAre(0, 1, 2));
}

TEST(TicksTest, LogarithmicOnesAreFew) {
  EXPECT_THAT(LogarithmicTicks(0.03, 2),
              ElementsAre(testing::DoubleNear(0.02, 1e-9), testing::DoubleNear(0.05, 1e-9),
                          testing::DoubleNear(0.1, 1e-9), testing::DoubleNear(0.2, 1e-9),
                          testing::DoubleNear(0.5, 1e-9), 1, 2));
  EXPECT_LE(LogarithmicTicks(1e-9, 1e6).size(), 8U);
}

ChartSpec SpecOf(std::vector<ChartPoint> points) {
  return {
      .title = "Loss",
      .x_label = "epoch",
      .whole_x = true,
      .series = {{.name = "a <run>", .colour = 0, .faint = false, .points = std::move(points)}}};
}

TEST(ChartTest, ASinglePointIsADot) {
  const std::string svg = DrawChart(SpecOf({{1, 0.5}}));
  EXPECT_THAT(svg, HasSubstr("<circle"));
  EXPECT_THAT(svg, HasSubstr("a &lt;run&gt;"));
}

TEST(ChartTest, HugeNumbersLeaveAGap) {
  for (const double huge : {std::numeric_limits<double>::max(), -1e305}) {
    EXPECT_EQ(DrawChart(SpecOf({{1, huge}})), "");
    EXPECT_EQ(DrawChart(SpecOf({{1, 1}, {2, huge}, {3, 2}})),
              DrawChart(SpecOf({{1, 1}, {2, NAN}, {3, 2}})));
  }
  EXPECT_THAT(DrawChart(SpecOf({{1, 1e299}, {2, -1e299}})), Not(HasSubstr("inf")));
}

TEST(ChartTest, ValuesThatAreNoNumbersLeaveAGap) {
  const std::string svg = DrawChart(SpecOf({{1, 1}, {2, NAN}, {3, 2}, {4, 3}}));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(DrawChart(SpecOf({{1, NAN}})), "");
  const std::string path = svg.substr(svg.find("class='line'"));
  EXPECT_EQ(
      std::count(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(path.find("/>")), 'M'),
      2);
}

class ReportTest : public testing::Test {
 protected:
  /// A run directory of `epochs` epochs.
  std::string Run(const std::string& name, int epochs, const std::string& rate, bool ended = true) {
    std::string folder = testing::TempDir() + "/report/" + name;
    fs::create_directories(folder);
    std::ofstream(folder + "/job.toml")
        << "[model]\nname = \"mlp\"\n[train]\nlearning_rate = " << rate << "\n";
    std::ofstream lines(folder + "/metrics.jsonl");
    lines << R"({"event":"start","parameters":1234,"cpu":"<b>cpu</b>","version":"0.1.0"})"
          << "\n";
    for (int e = 1; e <= epochs; ++e)
      lines
          << fmt::format(
                 R"({{"event":"epoch","epoch":{},"seconds":{},"learning_rate":{},"examples_per_second":1000,)"
                 R"("train":{{"loss":{}}},"test":{{"loss":0.5,"accuracy":0.{}}}}})",
                 e, 2 * e, rate, 1.0 / e, 7 + e)
          << "\n";
    if (ended)
      lines
          << R"({"event":"end","reason":"finished","seconds":9,"test":{"loss":0.5,"accuracy":0.875}})"
          << "\n";
    return folder;
  }
};

TEST_F(ReportTest, OneRunHoldsEverythingItself) {
  const std::string page = ReportPage({Run("one", 2, "0.1")});
  EXPECT_THAT(page, HasSubstr("0.8750"));
  EXPECT_THAT(page, HasSubstr("finished"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;cpu"));
  for (const char* foreign : {"http", "<script", "<img", "src=", "nan"})
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  size_t charts = 0;
  for (size_t at = 0; (at = page.find("<figure>", at)) != std::string::npos; ++at) ++charts;
  EXPECT_EQ(charts, 8U);  // loss, accuracy, learning rate and speed, over epochs and over seconds
}

TEST_F(ReportTest, SeveralRunsShowInWhatTheyDiffer) {
  const std::string page = ReportPage({Run("slow", 2, "0.001"), Run("fast", 3, "0.1", false)});
  EXPECT_THAT(page, HasSubstr("<code>train.learning_rate</code>"));
  EXPECT_THAT(page, Not(HasSubstr("<code>model.name</code>")));
  EXPECT_THAT(page, HasSubstr("not ended"));
  EXPECT_THAT(page, HasSubstr("</i>slow</th>")) << "names without the folder they share";
}

TEST_F(ReportTest, RunsOfSeveralReplicasTellWhatTheyExchanged) {
  const std::string alone = Run("alone", 2, "0.1"), together = Run("together", 2, "0.1", false);
  EXPECT_THAT(ReportPage({alone}), Not(HasSubstr("exchanged")));
  std::ofstream(together + "/job.toml", std::ios::app)
      << "[cluster]\nstrategy = \"ad_psgd\"\nreplicas = 4\n";
  std::ofstream(together + "/metrics.jsonl", std::ios::app)
      << R"({"event":"epoch","epoch":3,"seconds":6,"train":{"loss":0.3},"exchange":{"bytes":2500000,)"
      << R"("messages":1200,"communicating":0.125,"consensus_distance":0.75,"updates":null}})"
      << "\n";
  const std::string page = ReportPage({alone, together});
  for (const char* words :
       {"What replicas exchanged", "together</th><td>ad_psgd</td>", ">4</td>", ">2.50 MB</td>",
        ">1,200</td>", ">12.5 %</td>", ">0.75</td>", "Distance between replicas"})
    EXPECT_THAT(page, HasSubstr(words));
  EXPECT_THAT(page, Not(HasSubstr("staleness"))) << "no run has it";
}

/// Starts and epochs of a node with two devices, appended to a run.
class DevicesReportTest : public ReportTest {
 protected:
  static void Start(const std::string& run, const std::string& executor) {
    Append(run, fmt::format(R"({{"event":"start","executor":"{}"}})", executor));
  }
  /// Counts so far by device: {cpu, emulated:0}.
  static void Epoch(const std::string& run, int epoch, std::pair<int, int> examples,
                    std::pair<int, int> updates) {
    Append(run, fmt::format(R"({{"event":"epoch","epoch":{},"node":{{"examples":{},"updates":{},)"
                            R"("busy":{{"cpu":0.75,"emulated:0":0.5}},)"
                            R"("staleness":{{"cpu":1.25,"emulated:0":6.5}},)"
                            R"("most_stale":{{"cpu":4,"emulated:0":17}}}}}})",
                            epoch, ByDevice(examples), ByDevice(updates)));
  }
  static std::string ByDevice(std::pair<int, int> counts) {
    return fmt::format(R"({{"cpu":{},"emulated:0":{}}})", counts.first, counts.second);
  }
  static void Append(const std::string& run, const std::string& line) {
    std::ofstream(run + "/metrics.jsonl", std::ios::app) << line << "\n";
  }
  static std::string Devices(const std::vector<std::string>& runs) {
    const std::string page = ReportPage(runs);
    const size_t begin = page.find("<h2>Devices</h2>");
    return begin == std::string::npos ? ""
                                      : page.substr(begin, page.find("<h2>", begin + 1) - begin);
  }
};

TEST_F(DevicesReportTest, ATableTellsWhatEachHasDone) {
  const std::string run = Run("table", 0, "0.1", false);
  Epoch(run, 1, {1000, 3000}, {1000, 250});
  const std::string section = Devices({run});
  EXPECT_THAT(section, HasSubstr("c0'></i>table</th><td>cpu</td><td class='number'>1,000</td>"
                                 "<td class='number'>25.0 %</td><td class='number'>1,000</td>"
                                 "<td class='number'>80.0 %</td><td class='number'>1</td>"
                                 "<td class='number'>75.0 %</td><td class='number'>1.25</td>"
                                 "<td class='number'>4</td></tr>"));
  EXPECT_THAT(section, HasSubstr("c1'></i>table</th><td>emulated:0</td>"
                                 "<td class='number'>3,000</td><td class='number'>75.0 %</td>"));
  EXPECT_THAT(section, HasSubstr(">12</td><td class='number'>50.0 %</td>"
                                 "<td class='number'>6.5</td><td class='number'>17</td></tr>"));
}

TEST_F(DevicesReportTest, ChartsShowEachEpochAlone) {
  const std::string run = Run("epochs", 0, "0.1", false);
  Epoch(run, 1, {1000, 3000}, {1000, 250});
  Epoch(run, 2, {3000, 5000}, {1500, 750});
  const std::string section = Devices({run});
  for (const char* point : {"epochs, cpu\nepoch 1: 1<", "epochs, cpu\nepoch 2: 4<",
                            "epochs, emulated:0\nepoch 1: 12<", "epochs, cpu\nepoch 1: 0.8<",
                            "epochs, cpu\nepoch 2: 0.5<", "epochs, emulated:0\nepoch 2: 0.5<"})
    EXPECT_THAT(section, HasSubstr(point));
}

TEST_F(DevicesReportTest, CountsMayBeginAnew) {
  const std::string run = Run("anew", 0, "0.1", false);
  Start(run, "split");
  Epoch(run, 1, {100, 100}, {10, 10});
  Start(run, "hogbatch");
  Epoch(run, 2, {800, 800}, {100, 20});  // another executor
  Epoch(run, 3, {550, 300}, {110, 10});  // fewer examples than before
  Start(run, "hogbatch");
  Epoch(run, 4, {610, 360}, {120, 20});  // the same executor goes on
  const std::string section = Devices({run});
  for (const char* point : {"cpu\nepoch 2: 8<", "emulated:0\nepoch 2: 40<", "cpu\nepoch 3: 5<",
                            "cpu\nepoch 4: 6<", "emulated:0\nepoch 4: 6<"})
    EXPECT_THAT(section, HasSubstr(point));
}

TEST_F(DevicesReportTest, SeveralRunsHaveALineForEachDevice) {
  const std::string one = Run("devices1", 2, "0.1"), two = Run("devices2", 0, "0.1", false);
  const std::string three = Run("devices3", 0, "0.1", false);
  Epoch(two, 1, {100, 100}, {10, 10});
  Epoch(three, 1, {100, 100}, {10, 20});
  EXPECT_EQ(Devices({one}), "");
  const std::string section = Devices({one, two, three});
  EXPECT_THAT(section, Not(HasSubstr("devices1")));
  EXPECT_THAT(section, HasSubstr("c3'></i>devices3</th><td>emulated:0</td>"));
  EXPECT_THAT(section, HasSubstr("<g class='series c3'>"));
  EXPECT_THAT(section, HasSubstr("devices2, cpu\nepoch 1: 10<"));
}

TEST_F(DevicesReportTest, WhatOlderRunsDoNotRecordIsMissing) {
  const std::string run = Run("old", 2, "0.1", false);
  Append(run, R"({"event":"end","reason":"finished","node":{"examples":{"cpu":10,"emulated:0":30},)"
              R"("updates":{"cpu":5,"emulated:0":0},"busy":{"cpu":0.5}}})");
  const std::string section = Devices({run});
  EXPECT_THAT(section, HasSubstr(">2</td><td class='number'>50.0 %</td>"
                                 "<td class='number'>-</td><td class='number'>-</td></tr>"));
  EXPECT_THAT(section, HasSubstr("<td class='number'>0</td><td class='number'>0.0 %</td>"
                                 "<td class='number'>-</td><td class='number'>-</td>"));
  EXPECT_THAT(section, Not(HasSubstr("<figure>"))) << "no epoch has counts";
}

TEST_F(DevicesReportTest, DamagedCountsArePassedOver) {
  const std::string run = Run("damaged", 1, "0.1", false);
  for (const char* node : {"7", "null", "[1]", "\"x\"", R"({"examples":3})",
                           R"({"examples":{"cpu":"x"},"updates":[],"busy":null})"})
    Append(run, fmt::format(R"({{"event":"epoch","epoch":2,"node":{}}})", node));
  EXPECT_EQ(Devices({run}), "");
  Epoch(run, 3, {100, 300}, {10, 10});
  Append(run, R"({"event":"epoch","epoch":4,"node":{"examples":{"cpu":200}}})");
  Append(run, R"({"event":"epoch","epoch":[],"node":{"examples":{"cpu":300}}})");
  Append(run, R"({"event":3})");
  const std::string section = Devices({run});
  EXPECT_THAT(section, HasSubstr("cpu\nepoch 3: 10<"));
  EXPECT_THAT(section, Not(HasSubstr("nan")));
  EXPECT_EQ(ReadRun(run).epochs.size(), 9U);
}

/// Equal lanes of the first and the last of ten ranks.
TimelinePicture SmallTimeline() {
  TimelinePicture picture = {.from = 2, .to = 2.5, .seconds = 8, .ranks = 10};
  picture.spreads[0] = {.minimum = 0.25, .median = 0.5, .maximum = 0.75, .maximum_rank = 9};
  TimelineLane lane = {.fractions = {0.625, 0.375, 0.125}, .steps = {0.25}};
  lane.intervals = {{{{0, 0.125}, {0.25, 0.5}}, {{0.125, 0.25}}, {{0.1, 0.2}}}};
  picture.lanes = {lane, lane};
  picture.lanes[1].drawn = {.rank = 9, .group = 1};
  return picture;
}

std::string TimelineOf(const std::string& run) {
  const std::string page = ReportPage({run});
  const size_t begin = page.find("<h2>Who computes");
  return begin == std::string::npos ? "" : page.substr(begin, page.find("<h2>", begin + 1) - begin);
}

TEST_F(ReportTest, ASimulatedRunHasATimeline) {
  const std::string run = Run("simulated", 1, "0.1");
  fs::remove(run + "/timeline.json");
  EXPECT_EQ(TimelineOf(run), "");
  WriteTimeline(run, SmallTimeline());
  const std::string section = TimelineOf(run);
  for (const char* words :
       {"simulated: 2 of 10 ranks", ">rank 0</text>", ">9</text>", "milliseconds after 2 s",
        "rank 9, of the whole run:\ncomputing 62.5 %\nwaiting 37.5 %\nsending 12.5 %<",
        "<path class='computing' d='M76.0 36.0h242.00v15h-242.00zM560.0 36.0h484.00v15",
        "<path class='waiting' d='M318.0 36.0h242.00v15", "<path class='sending' d='M269.6 52.5h",
        "<path class='step' d='M560.0 33.5v19'/>",
        "<td>computing</td><td class='number'>25.0 % (rank 0)</td>",
        "<td class='number'>50.0 %</td><td class='number'>75.0 % (rank 9)</td></tr>"})
    EXPECT_THAT(section, HasSubstr(words));
}

TEST_F(ReportTest, ATimelineMayNotKnowWhatIsSent) {
  const std::string run = Run("fair", 1, "0.1");
  TimelinePicture picture = SmallTimeline();
  picture.sends = false;
  for (TimelineLane& lane : picture.lanes) lane.intervals[2].clear();
  WriteTimeline(run, picture);
  EXPECT_THAT(TimelineOf(run), Not(HasSubstr("sending")));
  picture.to = picture.from;  // nothing took time: only the table
  WriteTimeline(run, picture);
  EXPECT_THAT(TimelineOf(run), Not(HasSubstr("<figure")));
}

TEST_F(ReportTest, ADamagedTimelineIsPassedOver) {
  const std::string run = Run("damaged-timeline", 1, "0.1");
  WriteTimeline(run, SmallTimeline());
  EXPECT_NE(TimelineOf(run), "");
  const std::string whole = ReadWhole(run + "/timeline.json");
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string("[1]"),
                                  std::string(R"({"from":"x","lanes":7})"), std::string()}) {
    std::ofstream(run + "/timeline.json") << text;
    EXPECT_EQ(TimelineOf(run), "") << text;
  }
}

TEST_F(ReportTest, ARunWithoutAnEpochIsDrawnToo) {
  EXPECT_THAT(ReportPage({Run("young", 0, "0.1", false)}), HasSubstr("No epoch is complete yet"));
}

TEST_F(ReportTest, ABrokenLineIsPassedOver) {
  const std::string folder = Run("torn", 2, "0.1", false);
  std::ofstream(folder + "/metrics.jsonl", std::ios::app) << R"({"event":"epo)";
  EXPECT_EQ(ReadRun(folder).epochs.size(), 2U);
  EXPECT_EQ(TypicalRate(ReadRun(folder)), 1000);
}

TEST_F(ReportTest, RefusesWhatIsNoRun) {
  EXPECT_THROW(ReportPage({"/nowhere"}), UserError);
  EXPECT_THROW(ReportPage({testing::TempDir()}), UserError);
}

}  // namespace yoke::report_test
