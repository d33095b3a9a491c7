/**
 * `npm run acceptance [-- NAME...]`: runs the slow checks. Names are files in test/acceptance; without any, all of them
 * run. `--name PATTERN` runs only tests whose full name matches. A check with other options describes them at its top and
 * reads them from the environment: `--count 40` becomes `CHECK_COUNT`.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runTests } from '../runner/run.ts';
import { acceptanceSuites } from '../runner/suites.ts';

const suites = acceptanceSuites(availableParallelism());
const nameOf = (file: string) => file.slice('test/acceptance/'.length, -'.test.ts'.length);
const {
	values: { name: namePattern, ...values },
	positionals: wanted,
} = parseArgs({
	allowPositionals: true,
	options: {
		count: { type: 'string' },
		from: { type: 'string' },
		into: { type: 'string' },
		name: { type: 'string' },
		only: { type: 'string' },
		seed: { type: 'string' },
		tree: { type: 'string' },
	},
});
for (const [name, value] of Object.entries(values)) process.env[`CHECK_${name.toUpperCase()}`] = value;
const names = suites.flatMap(({ files }) => files).map(nameOf);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
	console.error(`Unknown check ${unknown.join(', ')}. The checks are ${names.join(', ')}.`);
	process.exit(2);
}
const chosen = suites
	.map((suite) => ({
		...suite,
		files: suite.files.filter((file) => wanted.length === 0 || wanted.includes(nameOf(file))),
	}))
	.filter(({ files }) => files.length > 0);
process.exitCode = await runTests({
	...{ checks: [], suites: chosen },
	...(namePattern === undefined ? {} : { namePattern }),
});
