/** Every command of docs/install.md, typed as it stands on hosts that have nothing yet. */

import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Block, packageHeading, readGuide, repository, Site, stepsOf, type Way, ways } from './guide.ts';
import { packed } from './package.ts';

t.setTimeout(600_000);

const guide = await readGuide();
const folder = await realpath(await mkdtemp(join(tmpdir(), 'sq-')));
t.teardown(() => rm(folder, { recursive: true }));
const packageFile = await packed(folder);

const names = Object.keys(ways) as Way[]; // what Object.keys gives of a constant are its keys

/** What is to be seen once a heading's commands were typed. */
const shows: Readonly<Record<string, RegExp>> = {
  'Measure, and look': /Nothing is refused while it has MODE = report\.[\s\S]*^alice +[\d.]+ kB +unlimited/m,
  'The hooks': /^1 repository, all with working hooks\.$/m,
  'The hooks of gitolite': /^3 repositories, all with working hooks\.$/m,
  Check: /^No problems found\.$/m,
  'The hooks out of the repositories': /pre-receive removed, post-receive removed/,
  'The hooks out of gitolite': /pre-receive removed, post-receive removed/,
};

/** Everything in a repository but the objects, as far as the hooks could have changed it. */
const snapshot =
  'cd "$1" && find . -path ./objects -prune -o -printf "%p %m %u %g %s %l\\n" | sort && cat config';

/** The commands of docs/troubleshooting.md; they change nothing. */
async function commandsBySymptom(): Promise<readonly string[]> {
  const text = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  return [...new Set([...text.matchAll(/`(softquota [^`]+)`/g)].map(([, command = '']) => command))];
}

/** Whatever has the name, on the whole host but where this project itself and its cache lie. */
const left =
  "find /etc /usr/local /usr/lib /opt /srv /home /run /var/lib /var/cache -xdev -iname '*softquota*' ! -path '/run/systemctl/*'; " +
  'grep softquota /etc/passwd /etc/group /etc/gshadow || true';

/** The rows of the guide's table of rights that are about a path which is there after the installation. */
async function rightsTold(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL('../../docs/install.md', import.meta.url), 'utf8');
  const rows = text.matchAll(/^\| `(\/[^`]+)`[^|]*\| `([^`]+)`, (0\d{3}) \|/gm);
  const told = [...rows].map(
    ([, path = '', owner = '', mode]) => [path, `${owner.split(':')[0]} ${mode}`] as const,
  );
  return new Map(told.filter(([path]) => path !== '/etc/softquota/hook.conf'));
}

for (const way of names) {
  t.test(`the guide's way ${way} leads from nothing to a protected server, and back`, async t => {
    const site = await Site.open(t, packageFile);
    const { sandbox } = site;
    const look = () => sandbox.must('sh', ['-c', snapshot, 'sh', repository[way]]);
    const nothing = await sandbox.must('sh', ['-c', left]);
    let before = '';
    for (const step of stepsOf(guide, way)) {
      if (/^The hooks/.test(step.heading) && before === '') before = await look();
      const { code, stdout, stderr } = await site.type(step);
      t.equal(code, 0, `${way}: ${step.heading}`, { stdout, stderr });
      t.match(stdout, shows[step.heading] ?? /^/, step.heading);
      if (step.heading !== 'Check') continue;
      const page = await sandbox.must('curl', ['-s', 'http://127.0.0.1:3080/owners']);
      t.match(page, /<base href="\/">[\s\S]*<div id="app">/, 'the web UI is in the package');
      const swagger = 'http://127.0.0.1:3080/api/swagger/swagger-ui-bundle.js';
      t.match(await sandbox.must('curl', ['-sf', swagger]), /SwaggerUIBundle/, 'and so is Swagger UI');
      if (way === 'ssh') {
        for (const command of await commandsBySymptom()) {
          const ran = await sandbox.run('sh', ['-eu', '-c', command]);
          t.equal(ran.code, 0, command, { stderr: ran.stderr });
        }
      }
      const told = await rightsTold();
      t.equal(told.size, 7);
      const stats = await sandbox.must('stat', ['--format', '%n %U 0%a', ...told.keys()]);
      t.equal(stats, [...told].map(row => row.join(' ')).join('\n'), 'the rights are as the guide has them');
    }
    t.equal(await look(), before, 'the repository is what it was');
    t.equal(await sandbox.must('sh', ['-c', left]), nothing, 'nothing is left on the host');
  });
}

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
  const isPackage = ({ heading }: Block) => heading === packageHeading;
  const others = guide.filter(block => !typed.includes(block) && !isShown(block) && !isPackage(block));
  t.strictSame(others, []);
  for (const way of names) t.ok(stepsOf(guide, way).length > 7, way);
});
