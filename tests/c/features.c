/* Reads samples of 16 bits from stdin, a hop at a time, and writes the features of each hop. */
#include <stdio.h>

#include "application_features.h"

int main(void) {
  int16_t samples[FEATURES_HOP], features[FEATURES_COEFFICIENTS];
  features_begin();
  while (fread(samples, sizeof samples, 1, stdin) == 1) {
    features_next(samples, features);
    fwrite(features, sizeof features, 1, stdout);
  }
  return 0;
}
