/* yoke in other programs: loads a trained model and predicts. All functions are thread-safe. */
#ifndef YOKE_H
#define YOKE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct YokeModel YokeModel;

/* Loads a checkpoint, the last one of a run directory, or an ONNX file (NAME.onnx). NULL if it
 * fails: see yoke_error. */
YokeModel* yoke_load(const char* path);

/* Numbers of one example, and of its outputs: classes, labels or the targets of a regression. */
int64_t yoke_inputs(const YokeModel* model);
int64_t yoke_outputs(const YokeModel* model);

/* The name of an output; NULL where labels are numbers, and beyond the last one. The model owns it.
 */
const char* yoke_output_name(const YokeModel* model, int64_t output);

/* Writes the probabilities [count, outputs] of the examples [count, inputs], whose values are as in
   the training data; of a regression the numbers, in the unit of its targets. Returns 0, or the
   exit status of the program: 2 for examples that the model does not take. */
int yoke_predict(YokeModel* model, const float* examples, int64_t count, float* probabilities);

/* Frees the model; NULL is allowed. */
void yoke_free(YokeModel* model);

/* Why the last call of this thread failed, as a sentence; "" before the first failure. Valid until
 * the next failure. */
const char* yoke_error(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
