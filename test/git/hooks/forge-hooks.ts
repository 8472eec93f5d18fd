/**
 * The hooks that forges write into repositories, in their effect: they run what lies in folders beside them.
 */

import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Runs each program of hooks/NAME.d with what git said, and ends with the first status that is not 0. */
const folderRunner = `#!/usr/bin/env bash
said=$(cat)
me=$(basename "$0")
failed=0
for program in "\${GIT_DIR:-.}"/hooks/"$me".d/*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  printf '%s\\n' "$said" | "$program" || { code=$?; [ $failed -ne 0 ] || failed=$code; }
done
exit $failed
`;

async function makeHooks(repository: string, own: string): Promise<void> {
  for (const name of ['pre-receive', 'post-receive']) {
    await mkdir(join(repository, `hooks/${name}.d`), { recursive: true });
    const hook = join(repository, 'hooks', name);
    await rm(hook, { force: true });
    await script(hook, folderRunner);
    await script(join(repository, `hooks/${name}.d/${own}`), '#!/bin/sh\ncat >/dev/null\n');
  }
}

/** Does to a repository what soft-serve does when it makes it. */
export const makeSoftServeHooks = (repository: string) => makeHooks(repository, 'soft-serve');

/** Does to a repository what Gitea and Forgejo do when they make it, and when hooks are resynchronized. */
export const makeForgeHooks = (repository: string) => makeHooks(repository, 'gitea');

/** The hook that Gogs writes; here it runs the hook of the administrator, as its program does. */
export function gogsDelegate(name: string): string {
  return `#!/bin/sh
# "/usr/local/bin/gogs" hook --config='/etc/gogs/app.ini' ${name}
[ ! -f "$PWD/custom_hooks/${name}" ] || exec "$PWD/custom_hooks/${name}"
`;
}

async function script(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o755);
}
