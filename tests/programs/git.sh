# SPDX-License-Identifier: GPL-2.0-or-later
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z'
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export GIT_CONFIG_NOSYSTEM=1
git init -q repo && cd repo || exit 1
git config user.name A
git config user.email a@example.org
git config gc.autoDetach false
i=0
while [ $i -lt 6 ]; do
	seq $((i * 1000)) $((i * 1000 + 3000)) > f$i
	seq $i 7 20000 > g
	git add . && git commit -q -m "commit $i" || exit 1
	i=$((i + 1))
done
git log --oneline | cat
git diff --stat HEAD~3 | cat
git gc -q
git fsck --full 2>/dev/null
git count-objects -v | grep -E '^(in-pack|packs|garbage)'
git archive HEAD | tar -tf - | sort
