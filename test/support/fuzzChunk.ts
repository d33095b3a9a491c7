/*
 * `fuzzChunk.ts FROM TO`: the cases of these seeds in a process of its own, a line of JSON before and after each, so that
 * who started it knows which one it is that crashes or hangs.
 */
import { fuzzCase } from './importerFuzz.ts';

const [from = 0, to = 0] = process.argv.slice(2).map(Number);
const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
for (let seed = from; seed < to; seed++) {
	tell({ begins: seed });
	const result = await fuzzCase(seed);
	tell({ ...result, heapMb: Math.round(process.memoryUsage().rss / 2 ** 20) });
}
process.exit(0);
