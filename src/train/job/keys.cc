// The keys that every job has, and those of its parts.
#include "train/job/keys.h"

#include "base/options.h"
#include "data/reader.h"
#include "model/graph.h"
#include "node/executor.h"
#include "optim/rule.h"
#include "optim/schedules.h"
#include "strategy/strategy.h"
#include "train/job/job.h"

namespace yoke {
namespace {

using enum OptionType;

/// The keys of each part in a list, for a section.
template <typename Entry>
void AddParts(std::vector<KeyGroup>& groups, const std::string& section, const std::string& kind,
              const std::vector<Entry>& entries) {
  for (const Entry& entry : entries)
    if (!entry.options.empty()) groups.push_back({section, kind + " " + entry.name, entry.options});
}

}  // namespace

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = {"loss", "accuracy", "p_at_1", "p_at_3", "p_at_5",
                                                 "auc",  "rmse",     "mae",    "r2"};
  return names;
}

const std::vector<OptionSpec>& train_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "epochs",
       .type = kInt,
       .fallback = 10,
       .help = "Passes over the training data.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "batch",
       .type = kInt,
       .fallback = 64,
       .help = "Examples per step and replica.",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "rule",
       .type = kString,
       .fallback = "momentum",
       .help = "Update rule; `yoke list rules`."},
      {.name = "learning_rate",
       .type = kFloat,
       .fallback = 0.01,
       .help = "Size of an update, before the schedule's factor. The default suits sgd, momentum "
               "and nesterov; for adam, adamw and rmsprop start with 0.001. With yellowfin a "
               "factor on the "
               "rate that it finds, by default 1. `auto`: chosen by short trials (`yoke train` "
               "does so, too, where the job has no rate).",
       .minimum = 0,
       .exclusive_minimum = true},
      {.name = "seed",
       .type = kInt,
       .fallback = 1,
       .help = "Seed of all random draws: initial weights, order, dropout.",
       .minimum = 0},
      {.name = "clip_norm",
       .type = kFloat,
       .fallback = 0.0,
       .help = "Maximum Euclidean norm of a step's gradient; 0: no limit.",
       .minimum = 0},
      {.name = "drop_last",
       .type = kBool,
       .fallback = false,
       .help = "Whether an epoch leaves out the examples of its last step if they are not a whole "
               "one; which these are is drawn anew for each epoch."},
      {.name = "label_smoothing",
       .type = kFloat,
       .fallback = 0.0,
       .help = "Part of the target that is spread over all classes, in training only.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_maximum = true},
      {.name = "class_weights",
       .type = kString,
       .help =
           "Factors on the training loss of examples, by class: `balanced` (the rarer the class, "
           "the larger), a list in the order of the classes, or a table such as `{ cat = 2 }`, "
           "where others have 1.",
       .choices = {"balanced"}},
      {.name = "average",
       .type = kFloat,
       .help = "Decay of a running mean of the weights, such as 0.999, which takes their place in "
               "evaluations and checkpoints.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true,
       .exclusive_maximum = true},
      {.name = "freeze",
       .type = kStrings,
       .help = "Parameters that training leaves as they are: patterns of `layer.parameter` such as "
               "`[\"convolution*\"]`, where * stands for any text."},
      {.name = "no_decay",
       .type = kStrings,
       .help = "Parameters without the rule's weight_decay: patterns, or `vectors`: biases, and "
               "scales and shifts of norms."},
      {.name = "groups",
       .type = kTables,
       .help = "Parameters with rates and decays of their own: tables such as "
               "`{ parameters = \"linear2.*\", rate = 10 }`; of several that name a parameter the "
               "last counts."},
      {.name = "weights",
       .type = kString,
       .fallback = "f32",
       .help = "`bf16`: the rows of lsh_linear's and sparse_linear's weights, and the rule's state "
               "of them, are stored in bf16, half the memory; updates are computed in f32 "
               "(docs/precision.md).",
       .choices = {"f32", "bf16"}},
      {.name = "rounding",
       .type = kString,
       .help = "Of updated rows to bf16: stochastic, up or down at random with an exact mean, or "
               "nearest (default: stochastic).",
       .choices = {"stochastic", "nearest"}},
      {.name = "schedule",
       .type = kTable,
       .help = "Learning rate over the epochs, such as `{ name = \"cosine\" }`."},
      {.name = "target",
       .type = kTable,
       .help = "Ends training early, such as `{ metric = \"accuracy\", at_least = 0.90 }`; "
               "measured on the validation share if there is one, otherwise on the test data."},
      {.name = "early_stopping",
       .type = kTable,
       .help = "Ends training when a metric no longer improves, such as `{ patience = 3 }`, and "
               "keeps the checkpoint with its best value as `best`; measured as for `target`."},
      {.name = "time_limit",
       .type = kString,
       .help = "Stops training in order after this time, such as `90s`, `10m`, `2h`; starts again "
               "when a run is resumed."},
      {.name = "tuning",
       .type = kString,
       .fallback = "grid",
       .help = "How learning_rate = \"auto\" is chosen: a climb over the rule's rates, or a range "
               "test, in which one training's rate rises.",
       .choices = {"grid", "range"}},
      {.name = "planner",
       .type = kString,
       .fallback = "yoke",
       .help =
           "What chooses keys that are `auto`: yoke's planner, or Omnivore's optimizer as "
           "published, which chooses groups, learning rate and momentum of compute_groups where "
           "cluster.strategy is `auto`.",
       .choices = {"yoke", "omnivore"}},
      {.name = "optimizer_epoch",
       .type = kString,
       .fallback = "1h",
       .help = "Training time between two searches of Omnivore's optimizer; each of its trials "
               "takes a fiftieth of it."},
      {.name = "search_share",
       .type = kFloat,
       .help = "Part of the training time that choosing keys which are `auto` may take. By default "
               "0.1, where the learning rate takes at least 600 steps or 40 % of all steps, "
               "whichever is less.",
       .minimum = 0,
       .maximum = 1},
      {.name = "replan_epochs",
       .type = kInt,
       .fallback = 0,
       .help = "Epochs until keys that are `auto` are chosen again, learning_rate apart; 0: once.",
       .minimum = 0,
       .maximum = kMostCount},
      {.name = "evaluate_every",
       .type = kInt,
       .fallback = 1,
       .help =
           "Epochs between evaluations, or a table: `{ steps = 500 }`. The last epoch is always "
           "evaluated.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "evaluate_examples",
       .type = kInt,
       .help = "Evaluations while training use a fixed random sample of so many test examples, and "
               "as many of the validation share; by default all. The last one uses all.",
       .minimum = 2,
       .maximum = kMostCount}};
  return keys;
}

const std::vector<OptionSpec>& evaluate_every_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "steps",
       .type = kInt,
       .help = "Steps between evaluations, counted as for checkpoint.every_steps.",
       .minimum = 1,
       .maximum = kMostCount,
       .required = true}};
  return keys;
}

const std::vector<OptionSpec>& target_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "metric",
       .type = kString,
       .help = "The metric to reach.",
       .choices = metric_names(),
       .required = true},
      {.name = "at_least", .type = kFloat, .help = "Reached when the metric is at least this."},
      {.name = "at_most", .type = kFloat, .help = "Reached when the metric is at most this."}};
  return keys;
}

const std::vector<OptionSpec>& early_stopping_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "patience",
       .type = kInt,
       .help = "Evaluations in a row without a better value after which training ends.",
       .minimum = 1,
       .maximum = kMostCount,
       .required = true},
      {.name = "metric",
       .type = kString,
       .fallback = "loss",
       .help = "The metric that is to improve.",
       .choices = metric_names()}};
  return keys;
}

const std::vector<OptionSpec>& group_keys() {
  static const std::vector<OptionSpec> keys = {{.name = "parameters",
                                                .type = kStrings,
                                                .help = "Patterns of `layer.parameter`.",
                                                .required = true},
                                               {.name = "rate",
                                                .type = kFloat,
                                                .fallback = 1.0,
                                                .help = "Factor on learning_rate; 0 freezes them.",
                                                .minimum = 0},
                                               {.name = "decay",
                                                .type = kFloat,
                                                .fallback = 1.0,
                                                .help = "Factor on weight_decay.",
                                                .minimum = 0}};
  return keys;
}

const std::vector<OptionSpec>& node_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "devices",
       .type = kStrings,
       .fallback = "all",
       .help = "Devices that compute: `all` (what the machine has), or names from `yoke list "
               "devices`, with a number where there are several of a kind: `emulated:0`. The "
               "environment's `YOKE_DEVICES=A,B` replaces them."},
      {.name = "device_timeout",
       .type = kFloat,
       .fallback = 60.0,
       .help = "Seconds that one of several devices may take for a batch; then the run goes on "
               "without it.",
       .minimum = 0,
       .exclusive_minimum = true},
      {.name = "emulated_slowdown",
       .type = kFloat,
       .fallback = 1.0,
       .help = "How many times longer kernels of emulated devices take.",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "emulated_bytes_per_second",
       .type = kFloat,
       .fallback = 0.0,
       .help = "Speed of copies to and from emulated devices; 0: the CPU's.",
       .minimum = 0},
      {.name = "executor",
       .type = kString,
       .fallback = "single",
       .help = "How the devices divide the work; `yoke list executors`, or `auto` (docs/plan.md)."},
      {.name = "precision",
       .type = kString,
       .fallback = "f32",
       .help = "`bf16`: bf16 arithmetic with f32 master weights; or `auto`.",
       .choices = {"f32", "bf16"}},
      {.name = "threads",
       .type = kInt,
       .help = "Number of compute threads; by default, all cores this process may use.",
       .minimum = 1,
       .maximum = 4096},
      {.name = "pin",
       .type = kBool,
       .fallback = true,
       .help = "Whether to bind threads to cores if they fill all cores this process may use; "
               "`yoke doctor` shows the result."},
      {.name = "kernels",
       .type = kString,
       .fallback = "auto",
       .help = "`reference`: plain loops only, slow and simple (also the environment's "
               "`YOKE_KERNELS=reference`).",
       .choices = {"auto", "reference"}}};
  return keys;
}

const std::vector<OptionSpec>& cluster_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "strategy",
       .type = kString,
       .fallback = "none",
       .help =
           "What replicas exchange, and when; `yoke list strategies`, or `auto` (docs/plan.md). "
           "The default for several replicas is allreduce."},
      {.name = "replicas",
       .type = kInt,
       .fallback = 1,
       .help = "Copies of the model that train together.",
       .minimum = 1,
       .maximum = kMostRanks},
      {.name = "all_reduce",
       .type = kString,
       .fallback = "auto",
       .help =
           "How uncompressed values are summed over all ranks (allreduce, local_sgd, slowmo, "
           "diloco): `auto` (by size), an algorithm of `docs/communicators.md`, or `mpi`: MPI's "
           "own, for processes of a launcher.",
       .choices = {"auto", "ring", "tree", "halving", "mpi"}},
      {.name = "timeout",
       .type = kFloat,
       .fallback = 60.0,
       .help = "Seconds that a rank waits for another before it gives up; longer than one step may "
               "take.",
       .minimum = 1}};
  return keys;
}

const std::vector<OptionSpec>& checkpoint_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "every_epochs",
       .type = kInt,
       .fallback = 1,
       .help = "Epochs between checkpoints; 0: no checkpoint at the end of epochs.",
       .minimum = 0,
       .maximum = kMostCount},
      {.name = "every_steps",
       .type = kInt,
       .fallback = 0,
       .help = "Steps between checkpoints; 0: none by steps.",
       .minimum = 0,
       .maximum = kMostCount},
      {.name = "every_minutes",
       .type = kFloat,
       .fallback = 0.0,
       .help = "Minutes between checkpoints; 0: none by time.",
       .minimum = 0},
      {.name = "keep",
       .type = kInt,
       .fallback = 2,
       .help = "Number of newest checkpoints to keep.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "best",
       .type = kString,
       .help = "Keeps the checkpoint with the best value of this metric as `best` (on the "
               "validation share if there is one, otherwise on the test data).",
       .choices = metric_names()}};
  return keys;
}

const std::vector<OptionSpec>& model_keys() {
  static const std::vector<OptionSpec> keys = {
      {.name = "name", .type = kString, .help = "A model of the zoo; `yoke list models`."},
      {.name = "file",
       .type = kPath,
       .help = "Instead of `name`: an ONNX file; training starts from its weights."},
      {.name = "initialize", .type = kBool, .help = "With `file`: true draws the weights anew."},
      {.name = "start",
       .type = kPath,
       .help = "A checkpoint, a run or an ONNX file whose weights training starts from, by name; "
               "without `name` and `layer` it is the model, too."},
      {.name = "replace_head",
       .type = kBool,
       .help = "With `start` or `file`: true draws the output layer anew, for other classes."},
      {.name = "keep_classes",
       .type = kBool,
       .help =
           "With `start`, a checkpoint, and `replace_head`: classes that it has by the same name "
           "keep the weights of their outputs."},
      {.name = "algorithms",
       .type = kTable,
       .help = "Convolution algorithms by layer: `{convolution1 = \"direct\"}`; "
               "`yoke info --tune-to` writes it."},
      {.name = "partitions",
       .type = kInt,
       .help = "Of all convolutions by `lower_batch`: parts of the batch, each of which a thread "
               "lowers and multiplies; by default one for each thread.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "lowered_images",
       .type = kInt,
       .help = "Of all convolutions by `lower_batch`: images of a part that are lowered and "
               "multiplied together, 1 as in Caffe; by default all.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "layer",
       .type = kTables,
       .help = "Instead of `name`: the layers in order, each with `type`, `name`, `inputs` (names "
               "of earlier layers; by default the preceding one) and its keys."}};
  return keys;
}

std::vector<KeyGroup> AllKeys() {
  std::vector<KeyGroup> groups = {{"data", "", common_data_options()}};
  AddParts(groups, "data", "format", formats());
  groups.push_back({"model", "", model_keys()});
  AddParts(groups, "model", "model", models());
  groups.push_back({"model", "a regression", regression_loss_options()});
  groups.push_back({"model", "an ONNX file", file_model_options()});
  AddParts(groups, "model.layer", "layer", layers());
  groups.push_back({"train", "", train_keys()});
  AddParts(groups, "train", "rule", rules());
  groups.push_back({"train.evaluate_every", "", evaluate_every_keys()});
  groups.push_back({"train.target", "", target_keys()});
  groups.push_back({"train.early_stopping", "", early_stopping_keys()});
  groups.push_back({"train.groups", "", group_keys()});
  groups.push_back({"train.schedule", "", common_schedule_options()});
  AddParts(groups, "train.schedule", "schedule", schedules());
  groups.push_back({"node", "", node_keys()});
  AddParts(groups, "node", "executor", executors());
  groups.push_back({"cluster", "", cluster_keys()});
  AddParts(groups, "cluster", "strategy", strategies());
  groups.push_back({"checkpoint", "", checkpoint_keys()});
  return groups;
}

}  // namespace yoke
