# The examples: each is one file that a user can compile alone. Included by the Makefile.

EXAMPLES := $(patsubst %.c,$(PRODUCTS)/%,$(wildcard examples/*.c))
CODE += $(wildcard examples/*.c)

$(EXAMPLES): $(PRODUCTS)/%: $(OBJ)/%.o $(STATIC)
	@mkdir -p $(@D)
	$(call say,ld)$(LINK) -o $@ $^ $(LIBRARIES)

all examples: $(EXAMPLES)
.PHONY: examples
