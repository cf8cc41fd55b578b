// Which launcher started this process, by the variables that each sets; and what is said where no
// library fits.
#include "comm/launcher.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace yoke::launcher_test {

using testing::HasSubstr;

class LauncherTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  /// A task of a step of Slurm's.
  void SetStep(int rank, int tasks) {
    Set("SLURM_JOB_ID", "3");
    Set("SLURM_STEP_ID", "0");
    Set("SLURM_STEP_NUM_TASKS", std::to_string(tasks));
    Set("SLURM_PROCID", std::to_string(rank));
    Set("SLURM_LOCALID", std::to_string(rank));
  }
  std::string Refusal() {
    try {
      RunMpi({}, [](const Communicator&) {});
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(LauncherTest, WithoutOneTheProcessIsAloneAndPrints) {
  EXPECT_FALSE(LaunchedByMpi());
  EXPECT_TRUE(PrintsForAll());
  EXPECT_THAT(Refusal(), HasSubstr("start it with mpirun"));
}

TEST_F(LauncherTest, KnowsOpenMpi) {
  Set("OMPI_COMM_WORLD_RANK", "2");
  Set("OMPI_COMM_WORLD_SIZE", "3");
  EXPECT_EQ(FindLaunch().library, "openmpi4");
  EXPECT_EQ(FindLaunch().rank, 2);
  EXPECT_EQ(FindLaunch().size, 3);
  EXPECT_FALSE(PrintsForAll());
  Set("PRTE_LAUNCHED", "1");
  EXPECT_EQ(FindLaunch().library, "openmpi5");
}

TEST_F(LauncherTest, KnowsMpich) {
  Set("PMI_RANK", "0");
  Set("PMI_SIZE", "2");
  EXPECT_EQ(FindLaunch().launcher, "mpirun of MPICH");
  EXPECT_EQ(FindLaunch().library, "mpich");
}

// What follows is what Slurm 22.05 of Debian 12 gave to its tasks.

TEST_F(LauncherTest, KnowsSlurmsPmi2) {
  SetStep(/*rank=*/1, /*tasks=*/2);
  Set("SLURM_MPI_TYPE", "pmi2");
  Set("PMI_FD", "13");
  Set("PMI_JOBID", "3.0");
  Set("PMI_RANK", "1");
  Set("PMI_SIZE", "2");
  EXPECT_EQ(FindLaunch().launcher, "srun");
  EXPECT_EQ(FindLaunch().library, "mpich");
  EXPECT_EQ(FindLaunch().rank, 1);
  EXPECT_EQ(FindLaunch().size, 2);
}

TEST_F(LauncherTest, KnowsSlurmsPmix) {
  SetStep(/*rank=*/1, /*tasks=*/4);
  Set("SLURM_MPI_TYPE", "pmix_v4");
  Set("PMIX_RANK", "1");
  Set("PMIX_VERSION", "4.2.2rc2");
  EXPECT_EQ(FindLaunch().launcher, "srun");
  EXPECT_EQ(FindLaunch().library, "openmpi");
  EXPECT_EQ(FindLaunch().rank, 1);
  EXPECT_EQ(FindLaunch().size, 4);
}

TEST_F(LauncherTest, KnowsMpichsMpirunThatSlurmStartsOnEachMachine) {
  SetStep(/*rank=*/0, /*tasks=*/1);  // one proxy, which starts the ranks
  Set("MPI_LOCALNRANKS", "2");
  Set("MPI_LOCALRANKID", "1");
  Set("PMI_FD", "6");
  Set("PMI_RANK", "1");
  Set("PMI_SIZE", "2");
  EXPECT_EQ(FindLaunch().launcher, "mpirun of MPICH");
  EXPECT_EQ(FindLaunch().rank, 1);
  EXPECT_EQ(FindLaunch().size, 2);
}

TEST_F(LauncherTest, RefusesTasksThatCannotFindEachOther) {
  SetStep(/*rank=*/0, /*tasks=*/4);
  EXPECT_TRUE(LaunchedByMpi());
  EXPECT_THAT(Refusal(), HasSubstr("srun --mpi=pmix"));
}

TEST_F(LauncherTest, ABatchScriptAndASingleTaskOfSlurmsAreAlone) {
  SetStep(/*rank=*/0, /*tasks=*/1);
  EXPECT_FALSE(LaunchedByMpi());
  Set("PMI_FD", "11");
  Set("PMI_RANK", "0");
  Set("PMI_SIZE", "1");
  EXPECT_FALSE(LaunchedByMpi());
  Set("PMIX_RANK", "0");
  EXPECT_FALSE(LaunchedByMpi());
  unsetenv("SLURM_STEP_ID");
  unsetenv("PMI_RANK");
  Set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_FALSE(LaunchedByMpi());
}

TEST_F(LauncherTest, SaysWhatIsMissingWhereNoLibraryFits) {
  const std::filesystem::path folder = testing::TempDir() + "/yoke-mpi-none";
  std::filesystem::create_directories(folder);
  Set("YOKE_MPI_LIBRARIES", folder);
  Set("PMI_RANK", "1");
  Set("PMI_SIZE", "2");
  EXPECT_THAT(Refusal(), HasSubstr("mpirun of MPICH started this process, and this yoke was built "
                                   "without the library for it"));
  EXPECT_THAT(Refusal(), HasSubstr("it has no MPI"));
  std::ofstream(folder / "openmpi4.so") << "";
  EXPECT_THAT(Refusal(), HasSubstr("it has openmpi4"));
  EXPECT_EQ(MpiLibraries(), std::vector<std::string>{"openmpi4"});
  std::filesystem::remove_all(folder);
}

}  // namespace yoke::launcher_test
