/** The bill of materials: the packages that are bundled, and Node, as `npm sbom` knows them. */

import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { checkout, type Manifest } from './contents.ts';
import { runTool } from './tool.ts';

const component = z.looseObject({
  'bom-ref': z.string(),
  name: z.string(),
  version: z.string(),
  scope: z.string(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })),
});
const bill = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ name: z.string() }) }),
  components: z.array(component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** npm's word for what is in devDependencies. */
const development = 'cdx:npm:package:development';

/** Writes it in CycloneDX's form. */
export async function writeBill(file: string, { name, version }: Manifest, epoch: number): Promise<void> {
  const said = await runTool('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: checkout,
  });
  const { metadata, components, dependencies, serialNumber: _, ...rest } = bill.parse(JSON.parse(said));
  const shipped = await shippedPackages();
  const isShipped = ({ name, version }: z.infer<typeof component>) => shipped.has(`${name}@${version}`);
  const kept = components.filter(isShipped).map(each => ({
    ...each,
    scope: 'required',
    properties: each.properties.filter(property => property.name !== development),
  }));
  const refs = new Set(kept.map(each => each['bom-ref']));
  const missing = shipped.size - new Set(kept.map(({ name, version }) => `${name}@${version}`)).size;
  if (missing > 0) throw new Error(`${missing} bundled packages are not in package-lock.json`);
  const made = {
    ...rest,
    // Neither a number by chance nor the time of the day: the same sources give the same file.
    metadata: {
      ...metadata,
      timestamp: new Date(epoch * 1000).toISOString(),
      // npm names it after the directory of the checkout.
      component: { ...metadata.component, name, version },
    },
    components: kept,
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(each => refs.has(each)) })),
  };
  await writeFile(file, `${JSON.stringify(made, null, 2)}\n`);
}

/** By the licenses that the builds wrote, as `name@version`, and what is copied as it is. */
async function shippedPackages(): Promise<ReadonlySet<string>> {
  const names: string[] = [];
  for (const file of globSync('dist/{,web/}licenses*.txt', { cwd: checkout })) {
    const text = await readFile(join(checkout, file), 'utf8');
    names.push(...[...text.matchAll(/^## (\S+) - (\S+)/gm)].map(([, name, version]) => `${name}@${version}`));
  }
  for (const name of ['node', 'swagger-ui-dist']) {
    const text = await readFile(join(checkout, 'node_modules', name, 'package.json'), 'utf8');
    names.push(`${name}@${z.looseObject({ version: z.string() }).parse(JSON.parse(text)).version}`);
  }
  return new Set(names);
}
