/** Every command of docs/install.md, typed as it stands on hosts that have nothing yet. */

import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { some } from '../run-length.ts';
import {
  type Block,
  giteaHeading,
  inUse,
  linesTold,
  linesToRefusal,
  packageHeading,
  readGuide,
  repository,
  Site,
  stepsOf,
  type Way,
  ways,
} from './guide.ts';
import { packed } from './packages.ts';

t.setTimeout(600_000);

const guide = await readGuide();
const text = await readFile(new URL('../../docs/install.md', import.meta.url), 'utf8');
const packageFile = await packed(t);

const names = Object.keys(ways) as Way[]; // what Object.keys gives of a constant are its keys

/** Output that is to be seen once a heading's commands were typed. */
const shows: Readonly<Record<string, RegExp>> = {
  'Over ssh': /It has MODE = enforce\.[\s\S]*^1 repository\b/m,
  'Set the limit': /^alice +[\d.]+ k?B +10 GB +/m,
  'The hooks': /^1 repository, all with working hooks\.$/m,
  'The hooks of gitolite': /^3 repositories, all with working hooks\.$/m,
  Check: /^No problems found\.$/m,
  'The hooks out of the repositories': /pre-receive removed, post-receive removed/,
  'The hooks out of gitolite': /pre-receive removed, post-receive removed/,
};

/** Everything in a repository but the objects, as far as the hooks could have changed it. */
const snapshot =
  'cd "$1" && find . -path ./objects -prune -o -printf "%p %m %u %g %s %l\\n" | sort && cat config';

/** A snapshot without the lines of what the hooks brought: their files. */
function withoutHooks(shown: string): string {
  const isOfHooks = /^\.\/hooks\/(pre|post)-receive|^\.\/hooks /;
  return shown
    .split('\n')
    .filter(line => !isOfHooks.test(line))
    .join('\n');
}

/** Pushes a megabyte, deletes it, and waits until it does not count any more, though it is still stored. */
const deleting = `
used() { curl -s --unix-socket /run/softquota/gate.sock 'http://localhost/v1/check?owner=alice&subject=size:all' | grep -o '"used":[0-9]*' | cut -d : -f 2; }
waits() { for _ in $(seq 300); do [ "$(used)" "$1" 500000 ] && return; sleep 0.1; done; echo "used: $(used)" >&2; return 1; }
git() { runuser -u git -- git "$@"; }
sed -i 's/^TOTAL = .*/TOTAL = 10M/' /etc/softquota/app.ini
systemctl reload softquota
cd /tmp
git init -q -b topic clone
cd clone
runuser -u git -- sh -c 'head -c 1000000 /dev/urandom >large && git add large'
git -c user.name=alice -c user.email=alice@git.example commit -q -m large
git push -q /srv/git/alice/app.git topic
waits -gt
git push -q /srv/git/alice/app.git :topic
waits -lt
[ "$(du -sb /srv/git/alice/app.git | cut -f 1)" -gt 1000000 ]
rm -r /srv/git/alice/app.git/objects/*
`;

/** Finds everything with the name, on the whole host but where this project itself and its cache lie. */
const left =
  "find /etc /usr/local /usr/lib /opt /srv /home /run /var/lib /var/cache -xdev -iname '*softquota*' ! -path '/run/systemctl/*'; " +
  'grep softquota /etc/passwd /etc/group /etc/gshadow || true';

const nodeOfHost = 'command -v node npm; node --version; npm root -g';

/** The rows of the guide's table of rights that are about a path which is there after the installation. */
async function rightsTold(): Promise<ReadonlyMap<string, string>> {
  const rows = text.matchAll(/^\| `(\/[^`]+)`[^|]*\| `([^`]+)`, (0\d{3}) \|/gm);
  return new Map(
    [...rows].map(([, path = '', owner = '', mode]) => [path, `${owner.split(':')[0]} ${mode}`]),
  );
}

// The ordinary run types two more ways in servers.test.ts, as far as to the protected server.
for (const way of some(names, names.length)) {
  t.test(`the guide's way ${way} leads to a protected server, and back, in one shell`, async t => {
    // One of them also makes the package itself, as the guide says.
    const site = await Site.open(t, way === 'ssh' ? null : packageFile);
    const { sandbox } = site;
    const nothing = await sandbox.must('sh', ['-c', left]);
    const node = await sandbox.must('sh', ['-c', nodeOfHost]);
    // Root's shell on a hardened host has this umask.
    await site.type({ kind: 'sh', heading: '', text: 'umask 077\n' });
    let before = '';
    for (const step of stepsOf(guide, way)) {
      const { code, stdout, stderr } = await site.type(step);
      if (step.kind === 'sh alice') {
        t.not(code, 0, `${way}: ${step.text}`);
        t.match(
          stderr,
          /^remote: Quota is 0: alice may not store anything\./m,
          `${way}: her push is refused`,
        );
        before = await sandbox.must('sh', ['-c', snapshot, 'sh', repository[way]]);
        continue;
      }
      t.equal(code, 0, `${way}: ${step.heading}`, { stdout, stderr });
      t.match(stdout, shows[step.heading] ?? /^/, step.heading);
      if (step.heading !== 'Check') continue;
      await sandbox.must('runuser', [
        '-u',
        'nobody',
        '--',
        'test',
        '-x',
        '/usr/lib/softquota/hooks/receive-pack/git',
      ]);
      t.equal(await sandbox.must('sh', ['-c', nodeOfHost]), node, 'what else runs with Node is left alone');
      const page = await sandbox.must('curl', ['-s', 'http://127.0.0.1:3080/owners']);
      t.match(page, /<base href="\/">[\s\S]*<div id="app">/, 'the web UI is in the package');
      const swagger = 'http://127.0.0.1:3080/api/swagger/swagger-ui-bundle.js';
      t.match(await sandbox.must('curl', ['-sf', swagger]), /SwaggerUIBundle/, 'and so is Swagger UI');
      // Without the worker the trusted socket is the daemon's alone.
      if (way === 'users') continue;
      const told = await rightsTold();
      t.equal(told.size, 7);
      const stats = await sandbox.must('stat', ['--format', '%n %U 0%a', ...told.keys()]);
      t.equal(stats, [...told].map(row => row.join(' ')).join('\n'), 'the rights are as the guide has them');
    }
    const after = await sandbox.must('sh', ['-c', snapshot, 'sh', repository[way]]);
    t.equal(withoutHooks(after), withoutHooks(before), 'the repository is what it was');
    t.notMatch(after, /softquota/, 'the hooks are gone');
    t.equal(await sandbox.must('sh', ['-c', left]), nothing, 'nothing is left on the host');
  });
}

t.test('a server in use is protected, and nobody is refused before its administrator agrees', async t => {
  const site = await Site.open(t, packageFile);
  const { sandbox } = site;
  const prepare =
    'useradd --create-home git && install -d -o git -g git /srv/git && ' +
    'runuser -u git -- git init -q --bare -b main /srv/git/alice/app.git';
  await sandbox.must('sh', ['-c', prepare]);
  const bare = '/srv/git/alice/app.git';
  const before = await sandbox.must('sh', ['-c', snapshot, 'sh', bare]);
  const steps = stepsOf(guide, 'ssh', inUse);
  for (const step of steps) {
    const { code, stdout, stderr } = await site.type(step);
    t.equal(code, 0, step.heading, { stdout, stderr });
    if (step.heading === 'Check') await sandbox.must('sh', ['-euc', deleting]);
  }
  t.equal(await sandbox.must('sh', ['-c', snapshot, 'sh', bare]), before, 'the repository is what it was');
});

t.test('no way to the first refused push takes more than ten command lines, as counted', t => {
  for (const way of names) {
    const steps = stepsOf(guide, way);
    const heading = steps.find(({ kind }) => kind === 'sh alice')?.heading ?? '';
    const lines = linesToRefusal(steps);
    t.ok(lines <= 10, `${way}: ${lines}`);
    t.equal(linesTold(text, heading), lines, way);
  }
  t.end();
});

t.test('the index of the manual names every page of it', async t => {
  const docs = new URL('../../docs/', import.meta.url);
  const index = await readFile(new URL('README.md', docs), 'utf8');
  const named = [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page);
  const pages = (await readdir(docs)).filter(page => page.endsWith('.md') && page !== 'README.md');
  t.strictSame(named.toSorted(), pages.toSorted());
});

t.test('every command and every text of the guide is run or compared', async t => {
  const typed = names.flatMap(way => stepsOf(guide, way));
  const isShown = ({ kind, heading }: Block) => kind === 'text' && heading === 'What the pusher sees';
  const ofUse = stepsOf(guide, 'ssh', inUse);
  const isPackage = ({ heading }: Block) => heading === packageHeading;
  const isGitea = ({ heading }: Block) => heading === giteaHeading;
  const isOther = (block: Block) => !isShown(block) && !isPackage(block) && !isGitea(block);
  const others = guide.filter(block => !typed.includes(block) && !ofUse.includes(block) && isOther(block));
  t.strictSame(others, []);
  for (const way of names) t.ok(stepsOf(guide, way).length > 6, way);
});
