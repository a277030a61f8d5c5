# SPDX-License-Identifier: GPL-2.0-or-later
# make deb: Debian packages of the commit in build/deb; debian/rules.
.PHONY: deb
deb:
	@tools/install-deps deb
	@$(MAKE) --no-print-directory -s $(PAGE)
	@tools/build-deb '$(BUILD)/deb' '$(VERSION)' '$(PAGE)'

