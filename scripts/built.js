/** Starts what is built, as bin/softquota.js does in the published package: for tests and measurements. */
import { main } from '../dist/bin.js';

process.exitCode = await main(process.argv.slice(2));
