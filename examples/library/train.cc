// Trains a job and predicts with its model: train JOB RUN [KEY=VALUE...]. Jobs may name the
// strategy and the layer of own_parts.cc.
#include <yoke/api/model.h>
#include <yoke/api/run_job.h>
#include <yoke/train/job/job.h>

#include <cstdio>

void AddOwnParts();

int main(int count, char** words) try {
  if (count < 3) return std::fputs("usage: train JOB RUN [KEY=VALUE...]\n", stderr), 2;
  AddOwnParts();
  yoke::Overrides keys;
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    const size_t equals = word.find('=');
    keys.push_back({.key = word.substr(0, equals), .value = word.substr(equals + 1)});
  }
  const yoke::Job job = yoke::LoadJob(words[1], keys);
  const yoke::EndEvent end = yoke::RunJob(job, {.run = words[2]});
  for (const auto& [name, value] : end.test) std::printf("test %s %.4f\n", name.c_str(), value);

  yoke::Model model(end.run);
  const std::vector<float> example(model.data().input.Count());
  std::vector<float> probabilities(model.outputs());
  model.Predict({example, model.data().input, nullptr}, probabilities);
  std::printf("the first of %zu outputs: %.4f\n", probabilities.size(), probabilities[0]);
} catch (const yoke::Error& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return problem.exit_status();
}
