// The list of commands.
#include "cli/command.h"

namespace yoke {

CommandEntry train_command();
CommandEntry eval_command();
CommandEntry predict_command();
CommandEntry export_command();
CommandEntry report_command();
CommandEntry plan_command();
CommandEntry simulate_command();
CommandEntry synthesize_command();
CommandEntry convert_command();
CommandEntry info_command();
CommandEntry bench_command();
CommandEntry list_command();
CommandEntry doctor_command();
CommandEntry completion_command();
CommandEntry man_command();
CommandEntry version_command();

/// A new command is a file src/cli/<name>.cc with a function that returns its entry, and two lines
/// here.
const std::vector<CommandEntry>& Commands() {
  static const std::vector<CommandEntry> list = {
      train_command(),   eval_command(),       predict_command(),  export_command(),
      report_command(),  plan_command(),       simulate_command(), synthesize_command(),
      convert_command(), info_command(),       bench_command(),    list_command(),
      doctor_command(),  completion_command(), man_command(),      version_command(),
  };
  return list;
}

}  // namespace yoke
