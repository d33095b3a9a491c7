/**
 * `npm run acceptance [-- NAME...]`: the checks that take long. Names are the files of test/acceptance; without one all
 * of them run. A check that has options says so at its top; it finds `--count 40` as `CHECK_COUNT` in its environment.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runTests } from '../runner/run.ts';
import { acceptanceSuite } from '../runner/suites.ts';

const suite = acceptanceSuite(availableParallelism());
const nameOf = (file: string) => file.slice('test/acceptance/'.length, -'.test.ts'.length);
const { values, positionals: wanted } = parseArgs({
	allowPositionals: true,
	options: {
		count: { type: 'string' },
		from: { type: 'string' },
		into: { type: 'string' },
		only: { type: 'string' },
		seed: { type: 'string' },
		tree: { type: 'string' },
	},
});
for (const [name, value] of Object.entries(values)) process.env[`CHECK_${name.toUpperCase()}`] = value;
const names = suite.files.map(nameOf);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
	console.error(`Unknown check ${unknown.join(', ')}. The checks are ${names.join(', ')}.`);
	process.exit(2);
}
const files = wanted.length === 0 ? suite.files : suite.files.filter((file) => wanted.includes(nameOf(file)));
process.exitCode = await runTests({ checks: [], suites: [{ ...suite, files }] });
