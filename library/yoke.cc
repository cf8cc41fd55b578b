// yoke.h: no exception leaves a function; each becomes a status and a sentence.
#include <yoke.h>

#include "api/model.h"
#include "base/check.h"

struct YokeModel {
  explicit YokeModel(const char* path) : model(path) {}
  yoke::Model model;
};

namespace {

thread_local std::string failure;

int Failed(const char* sentence, int status) {
  failure = sentence;
  return status;
}

/// Runs work(); returns 0, or the exit status of what it throws.
template <typename Work>
int StatusOf(const Work& work) {
  try {
    work();
    return 0;
  } catch (const yoke::Error& error) {
    return Failed(error.what(), error.exit_status());
  } catch (const std::bad_alloc&) {
    return Failed("out of memory", 1);
  } catch (const std::exception& error) {
    return Failed(error.what(), 1);
  }
}

}  // namespace

YokeModel* yoke_load(const char* path) {
  YokeModel* model = nullptr;
  StatusOf([&] { model = new YokeModel(path); });
  return model;
}

int64_t yoke_inputs(const YokeModel* model) { return model->model.data().input.Count(); }

int64_t yoke_outputs(const YokeModel* model) { return model->model.outputs(); }

const char* yoke_output_name(const YokeModel* model, int64_t output) {
  const std::vector<std::string>& names = model->model.data().label_names;
  return output >= 0 && output < std::ssize(names) ? names[output].c_str() : nullptr;
}

int yoke_predict(YokeModel* model, const float* examples, int64_t count, float* probabilities) {
  return StatusOf([&] {
    yoke::Require(count >= 0, "there are {} examples", count);
    const auto values = static_cast<size_t>(count * yoke_inputs(model));
    model->model.Predict(
        yoke::Examples(std::span(examples, values), model->model.data().input, nullptr),
        {probabilities, static_cast<size_t>(count * yoke_outputs(model))});
  });
}

void yoke_free(YokeModel* model) { delete model; }

const char* yoke_error(void) { return failure.c_str(); }
