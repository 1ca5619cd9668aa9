/* How to call a function of @prefix@.h: all inputs zero here. Written by casid. */
#include "@prefix@.h"

#include <stdio.h>

int main(void)
{
    int i;
@values@
    if (@call@ != 0)
        return 1;
@prints@
    return 0;
}
