/* Reads examples as numbers from standard input and prints the likeliest class of each: predict
 * MODEL */
#include <stdio.h>
#include <stdlib.h>
#include <yoke.h>

int main(int count, char** words) {
  YokeModel* model = count == 2 ? yoke_load(words[1]) : NULL;
  if (!model) {
    fprintf(stderr, "%s\n", count == 2 ? yoke_error() : "usage: predict MODEL");
    return 2;
  }
  const int64_t inputs = yoke_inputs(model), outputs = yoke_outputs(model);
  float* example = malloc(sizeof(float) * inputs);
  float* probabilities = malloc(sizeof(float) * outputs);
  for (int64_t read = 0; scanf("%f", &example[read]) == 1;) {
    if (++read < inputs) continue;
    read = 0;
    if (yoke_predict(model, example, 1, probabilities) != 0) {
      fprintf(stderr, "%s\n", yoke_error());
      return 1;
    }
    int64_t best = 0;
    for (int64_t i = 1; i < outputs; ++i)
      if (probabilities[i] > probabilities[best]) best = i;
    printf("%s %.4f\n", yoke_output_name(model, best), probabilities[best]);
  }
  free(probabilities);
  free(example);
  yoke_free(model);
  return 0;
}
