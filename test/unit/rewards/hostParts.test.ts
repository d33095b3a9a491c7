import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { minNode, nodeIsNewEnough } from '../../../src/base/nodeVersion.ts';
import { Random } from '../../../src/base/random.ts';
import { listProcesses, parsePs, parseStat } from '../../../src/processes/processList.ts';
import { HostLog } from '../../../src/rewards/hostLog.ts';
import { isolateRows, spread } from '../../../src/rewards/isolatedRows.ts';

const fault = { kind: 'timeout', message: 'too slow' } as const;

describe('the rows of a failed batch', () => {
	it('are each retried once, in an order spread over the batch', () => {
		for (const n of [0, 1, 2, 3, 4, 7, 8, 64, 100, 1000, 1023]) {
			const order = spread(n);
			assert.deepEqual(
				order.toSorted((a, b) => a - b),
				Array.from({ length: n }, (_, i) => i),
			);
			// The first five rows are never adjacent.
			if (n > 20) assert.ok(Math.max(...order.slice(0, 5)) - Math.min(...order.slice(0, 5)) > n / 4, `${n}`);
		}
	});

	it('keep their values and errors by row', async () => {
		const bad = new Set([3, 4, 9]);
		const { values, errors } = await isolateRows(20, fault, Infinity, async (i) => ({
			value: bad.has(i) ? null : i,
			errors: bad.has(i) ? [{ kind: 'exited', message: `row ${i}` }] : [],
			killed: bad.has(i),
		}));
		assert.deepEqual(
			values,
			Array.from({ length: 20 }, (_, i) => (bad.has(i) ? null : i)),
		);
		assert.deepEqual(
			errors.map(({ index, message }) => [index, message]),
			[...bad].map((i) => [i, `row ${i}`]),
		);
	});

	it('are abandoned if each of the first five kills a process', async () => {
		const tried: number[] = [];
		const { values, errors } = await isolateRows(50, fault, Infinity, async (i) => {
			tried.push(i);
			return { value: null, errors: [{ kind: 'memory', message: 'm' }], killed: true };
		});
		assert.equal(tried.length, 5);
		assert.deepEqual(values, new Array(50).fill(null));
		assert.equal(errors.length, 50);
		assert.equal(errors.filter(({ kind }) => kind === 'memory').length, 5);
		assert.equal(
			errors.filter(({ kind, message }) => kind === 'timeout' && /too slow \(not retried individually/.test(message))
				.length,
			45,
		);
	});

	it('continue if any row succeeds, until the time limit', async () => {
		let now = 0;
		const tried: number[] = [];
		const { errors } = await isolateRows(
			100,
			fault,
			25,
			async (i) => {
				tried.push(i);
				now++;
				return { value: 1, errors: [], killed: tried.length > 1 };
			},
			() => now,
		);
		assert.equal(tried.length, 26);
		assert.equal(errors.length, 74);
		assert.match(errors[0]?.message ?? '', /too long/);
	});
});

describe("a host's log", () => {
	it('returns each line once, even if it is split across chunks', () => {
		const log = new HostLog();
		assert.deepEqual(log.take(), []);
		for (const byte of Buffer.from('one\ntwö\r\n\nthree')) log.add(Buffer.from([byte]));
		assert.equal(log.peek(), 'one\ntwö\r\n\nthree');
		assert.deepEqual(log.take(), ['one', 'twö', '', 'three']);
		assert.deepEqual(log.take(), []);
	});

	it('keeps the start and end of any stream, and counts the omitted bytes exactly', () => {
		for (let seed = 0; seed < 30; seed++) {
			const random = Random.of('log', seed);
			const log = new HostLog();
			const parts: Buffer[] = [];
			const sizes = random.pick([10, 1000, 70_000]);
			for (let i = random.between(1, 40); i > 0; i--)
				parts.push(Buffer.alloc(random.between(1, sizes), random.between(97, 122)));
			for (const part of parts) log.add(part);
			const whole = Buffer.concat(parts).toString();
			assert.equal(log.total, whole.length);
			const all = log.take();
			const at = all.findIndex((line) => /^\([\d,]+ bytes omitted\)$/.test(line));
			if (at < 0) {
				assert.equal(all.length, 1);
				assert.ok(whole.startsWith((all[0] as string).replace(/…$/, '')));
				assert.ok(whole.length <= 64 * 1024 + 70_000);
				continue;
			}
			const [head, tail] = [all.slice(0, at).join(''), all.slice(at + 1).join('')];
			// Only the first 2,000 characters of each line are shown.
			assert.ok(whole.startsWith(head.replace(/…$/, '')), `seed ${seed}`);
			const cut = Number((all[at] as string).replace(/\D/g, ''));
			assert.ok(whole.slice(49_152 + cut).startsWith(tail.replace(/…$/, '')), `seed ${seed}`);
			assert.ok(whole.length - cut <= 64 * 1024 + sizes);
		}
	});
});

describe('the process list', () => {
	it('parses names that look like fields', () => {
		const fields = `${'0 '.repeat(15)}77 1000 256`;
		const entry = parseStat(`12 (a) Z 9 (b) S 5 6 7 ${fields} 0`);
		assert.deepEqual(entry, { pid: 12, parent: 5, group: 6, session: 7, start: 77, rssMb: 1, ended: false });
	});

	it('contains this process', async () => {
		const entry = (await listProcesses()).find(({ pid }) => pid === process.pid);
		assert.ok(entry);
		assert.equal(entry.parent, process.ppid);
		assert.ok(Math.abs(entry.rssMb - process.memoryUsage.rss() / 2 ** 20) < 64, `${entry.rssMb}`);
	});

	it('parses ps output where there is no /proc', () => {
		const [first, second, ...rest] = parsePs('    1     0     1   2048 Ss  \n  345   12    12 10240 Z+\n');
		assert.deepEqual(first, { pid: 1, parent: 0, group: 1, session: 1, start: 0, rssMb: 2, ended: false });
		assert.deepEqual(
			[second?.pid, second?.parent, second?.group, second?.rssMb, second?.ended],
			[345, 12, 12, 10, true],
		);
		assert.deepEqual(rest, []);
	});
});

it('Node 22.18 and later can run reward files', () => {
	const cases = {
		'20.20.2': false,
		'22.9.0': false,
		'22.17.1': false,
		'22.18.0': true,
		'23.1.0': true,
		'24.21.0': true,
	};
	for (const [version, expected] of Object.entries(cases)) assert.equal(nodeIsNewEnough(version), expected, version);
	const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
	assert.equal(manifest.engines.node, `>=${minNode}`);
	assert.equal(nodeIsNewEnough(minNode), true);
});
