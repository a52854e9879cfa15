/* Runs the compiled chosen.graph of eager_steps, whose places are computed, and then checked. */
#include <stdio.h>
#include <string.h>

#include "chosen.h"

enum { ROWS = 4, COLUMNS = 8 };

int main(void) {
    static float x[ROWS * COLUMNS];
    int32_t shift[ROWS] = {0, 1, -1, -3};
    float y[ROWS];
    hy_error error;
    for (int k = 0; k < ROWS * COLUMNS; k++)
        x[k] = (float)k;
    for (int row = 0; row < ROWS; row++)
        x[row * COLUMNS + 2] = 1000;  /* the largest */
    chosen_step *step = chosen_open(&error);
    if (!step || chosen_run(step, x, shift, y, &error)) return puts(error.text), 1;
    for (int row = 0; row < ROWS; row++) {
        const int column = (2 + shift[row] + COLUMNS) % COLUMNS;  /* -1 is the last one */
        if (y[row] != x[row * COLUMNS + column]) return printf("row %d is %g\n", row, y[row]), 1;
    }
    shift[1] = 6;
    if (!chosen_run(step, x, shift, y, &error)) return puts("8 of 8 is taken"), 1;
    if (!strstr(error.text, "index 1 is 8, expected -8 to 7")) return puts(error.text), 1;
    chosen_close(step);
    return 0;
}
