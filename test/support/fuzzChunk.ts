/*
 * `fuzzChunk.ts FROM TO`: runs the cases with these seeds in a separate process and prints a line of JSON before and
 * after each, so that the parent knows which case crashed or hung.
 */
import { fuzzCase } from './importerFuzz.ts';

const [from = 0, to = 0] = process.argv.slice(2).map(Number);
const reply = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
for (let seed = from; seed < to; seed++) {
	reply({ begins: seed });
	const result = await fuzzCase(seed);
	reply({ ...result, heapMb: Math.round(process.memoryUsage().rss / 2 ** 20) });
}
process.exit(0);
