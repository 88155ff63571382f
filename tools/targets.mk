# Other systems, processors and choices of libraries: `make targets`, or `make targets TARGETS="musl aarch64"`. Included by
# the Makefile. tools/target says what each of them is; one whose compiler is not there is passed over by name.

TARGETS ?= musl glibc-2.28 i386 aarch64 s390x no-keys no-isal

targets:
	+@tools/run-tests --verbose --timeout 7200 $(if $(TALLY),--tally $(TALLY)) \
		$(foreach t,$(TARGETS),'targets/$t:alone=tools/target $t')

.PHONY: targets
