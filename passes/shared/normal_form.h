/* normal_form.h - Declares the form in which statements are compared. */
#ifndef TIRC_PASSES_SHARED_NORMAL_FORM_H
#define TIRC_PASSES_SHARED_NORMAL_FORM_H

#include "ir/ir.h"

/* `s` without names for values that nothing in it changes, and with loops from 0 in steps of 1,
 * each of more than one iteration, as far as their ranges are literal. */
Stmt *normal_form(Context *c, Stmt *s);

#endif
