/** The manual as a site, as `npm run docs` builds it. */

import { cpSync, globSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { must, run } from '../e2e/run.ts';

t.setTimeout(600_000);

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** The values of an attribute in a page. */
function valuesOf(page: string, attribute: string): readonly string[] {
  const values = page.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'));
  return [...values].map(([, value = '']) => value.replaceAll('&amp;', '&'));
}

t.test('one command builds the site, with every page of the manual and no broken link', async t => {
  const site = t.testdir();
  await must('npm', ['run', '--silent', 'docs', '--', '--outDir', site], {
    cwd: checkout,
    env: { HOME: site },
  });
  const files = new Set(globSync('**/*.*', { cwd: site }).map(name => join(site, name)));
  const pages = new Map(
    [...files].filter(file => file.endsWith('.html')).map(file => [file, readFileSync(file, 'utf8')]),
  );
  for (const page of globSync('docs/**/*.md', { cwd: checkout })) {
    t.ok(pages.has(join(site, page.replace(/\.md$/, '.html'))), page);
  }
  const beside = new Set(valuesOf(pages.get(join(site, 'index.html')) ?? '', 'href'));
  const unnamed = globSync('docs/**/*.md', { cwd: checkout }).filter(
    page => page !== 'docs/README.md' && !beside.has(`/${page.replace(/\.md$/, '.html')}`),
  );
  t.strictSame(unnamed, [], 'the list beside every page names all of them');
  const headings = new Map([...pages].map(([file, text]) => [file, new Set(valuesOf(text, 'id'))]));
  const broken: string[] = [];
  for (const [file, text] of pages) {
    for (const link of new Set([...valuesOf(text, 'href'), ...valuesOf(text, 'src')])) {
      if (/^(https?|data|mailto):/.test(link)) continue;
      const [path = '', heading = ''] = decodeURIComponent(link).split('#');
      const target = pointsTo(path, file);
      const known = headings.get(target);
      if (!files.has(target) || (heading !== '' && known?.has(heading) === false)) {
        broken.push(`${file.slice(site.length)}: ${link}`);
      }
    }
  }
  t.strictSame(broken, []);

  const [index = ''] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: site });
  t.ok(statSync(join(site, index)).size > 100_000, 'all of it can be searched');

  function pointsTo(path: string, from: string): string {
    if (path === '') return from;
    const target = path.startsWith('/') ? join(site, path) : resolve(dirname(from), path);
    return [target, `${target}.html`, join(target, 'index.html')].find(each => files.has(each)) ?? target;
  }
});

for (const [what, link, said] of [
  ['page', 'docs/no-such.md', /dead link[\s\S]*no-such/],
  ['file', 'compose.no-such.yaml', /the link to compose\.no-such\.yaml is dead/],
] as const) {
  t.test(`a link to a ${what} that is not there fails the build`, async t => {
    const tree = t.testdir({ 'README.md': `[See](${link}).\n` });
    const asItIs = { recursive: true, preserveTimestamps: true };
    for (const path of ['site/.vitepress', 'site/package.json', 'site/package-lock.json', 'package.json'])
      cpSync(join(checkout, path), join(tree, path), asItIs);
    cpSync(join(checkout, 'scripts/setup'), join(tree, 'scripts/setup'), asItIs);
    for (const path of ['node_modules', 'site/node_modules'])
      symlinkSync(join(checkout, path), join(tree, path));
    const built = await run('npm', ['run', '--silent', 'docs'], { cwd: tree, env: { HOME: tree } });
    t.not(built.code, 0);
    t.match(built.stdout + built.stderr, said);
  });
}

/** The number of words in a text; the bars and dashes of tables and trees are none. */
function wordsIn(text: string): number {
  return text.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length;
}

function page(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

t.test('the README stays one screen of words', t => {
  const words = wordsIn(page('README.md'));
  t.ok(words <= 700, `${words}`);
  t.end();
});

/** Pages that are generated whole. */
const isGenerated = /^docs\/(reference\/|(commands|configuration|errors|forges\/uploads)\.md)/;

/** A page without the parts that are generated: the table of metrics, and printed files of the package. */
function written(path: string): string {
  return page(path)
    .replace(/<!-- metrics: [\s\S]*?<!-- end of metrics -->/, '')
    .replaceAll(/<!-- file: .* -->\n```[\s\S]*?^```$/gm, '');
}

t.test('the manual stays short, and so does each page of it', t => {
  const pages = globSync('docs/**/*.md', { cwd: checkout }).filter(path => !isGenerated.test(path));
  const words = new Map(pages.map(path => [path, wordsIn(written(path))]));
  const sum = [...words.values()].reduce((all, each) => all + each, 0);
  t.ok(pages.length > 40);
  t.ok(sum <= 43_000, `${sum}`);
  for (const [path, each] of words) t.ok(each <= 3600, `${path}: ${each}`);
  t.ok((words.get('docs/architecture.md') ?? 0) <= 3000);
  t.end();
});
