import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Bench, type Measurement, NotHere, table, writeResults } from './measurement.ts';

/**
 * npm run bench [-- NAME ...] [--rounds N] [--tiny] [--against COMMAND [--against-pattern REGEXP]]
 *
 * Without names, runs all benches; a bench whose requirements are missing here reports that. `--tiny` runs a bench with
 * its smallest sizes, if it has any, and writes no results. `--against` runs another program in turns with the bench
 * and prints the ratio: the shell runs the command once per round, and the command must print its value (seconds per
 * step for `engine`) on a line matching the pattern. The pattern's first group is the number, and the last match
 * counts.
 */
const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		rounds: { type: 'string', default: '3' },
		tiny: { type: 'boolean', default: false },
		against: { type: 'string' },
		'against-pattern': { type: 'string', default: 'GRPO: ([0-9.]+) s/step' },
	},
});

const suffix = '.bench.ts';
const folder = new URL('./', import.meta.url);
const known = (await readdir(folder))
	.filter((file) => file.endsWith(suffix))
	.map((file) => file.slice(0, -suffix.length));
const unknown = positionals.filter((name) => !known.includes(name));
const rounds = Number(values.rounds);
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
	console.error(
		unknown.length > 0
			? `There is no bench ${unknown.join(', ')}. Benches: ${known.sort().join(', ')}.`
			: '--rounds needs an integer of at least 1.',
	);
	process.exit(2);
}

for (const name of positionals.length > 0 ? positionals : known.sort()) {
	const { bench }: { bench: Bench } = await import(new URL(`${name}${suffix}`, folder).href);
	console.log(`${name}: ${bench.title}`);
	let measurements: Measurement[];
	try {
		measurements = await bench.run({
			against: values.against ?? null,
			againstPattern: new RegExp(values['against-pattern'], 'g'),
			rounds,
			tiny: values.tiny,
		});
	} catch (error) {
		if (!(error instanceof NotHere)) throw error;
		console.log(`${error.message} Nothing was measured.`);
		continue;
	}
	console.log(table(measurements));
	if (!values.tiny) await writeResults(new URL('results.json', folder), measurements);
}
