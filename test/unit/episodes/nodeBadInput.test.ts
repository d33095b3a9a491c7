import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnvironmentRunner } from '../../../src/episodes/environmentRunner.ts';
import { EpisodeFault } from '../../../src/episodes/episodeSession.ts';
import type { EpisodeError } from '../../../src/protocol/episode.ts';
import { openEnvironment } from './environmentFixtures.ts';

/** An environment that runs code from the row, and otherwise counts. */
const environment = `
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const run = (code: string | undefined, self: Bad) => code && new Function('self', 'require', code)(self, require);

export class Bad {
	count = 0;
	#row: Record<string, string> = {};
	reset(row: Record<string, string>) {
		this.#row = row;
		this.count = 0;
		return run(row.reset, this) ?? 'ready';
	}
	/** Counts. */
	countUp() {
		this.count += 1;
		return run(this.#row.call, this) ?? String(this.count);
	}
	getReward() {
		return run(this.#row.reward, this) ?? 1;
	}
}`;

interface Fault {
	readonly row: { readonly reset?: string; readonly call?: string; readonly reward?: string };
	readonly kind: EpisodeError['kind'];
	readonly message: RegExp;
	/** Whether the process survives. */
	readonly survives?: boolean;
	/** Time limit per turn, for a fault that the default limit would end first. Such a fault gets its own process. */
	readonly turnMs?: number;
}

const faults: Readonly<Record<string, Fault>> = {
	'a tool that never returns': { row: { call: 'for (;;);' }, kind: 'timeout', message: /time limit of 1\.5 s/ },
	'a reset that waits forever': {
		row: { reset: 'return new Promise(() => {})' },
		...{ kind: 'timeout', message: /time limit/ },
	},
	'a reward that kills its process': {
		row: { reward: 'process.kill(process.pid, "SIGKILL")' },
		...{ kind: 'exited', message: /The environment process was killed by SIGKILL/ },
	},
	'a tool that calls process.exit': {
		row: { call: 'process.exit(2)' },
		...{ kind: 'exited', message: /^process\.exit\(2\) was called/, survives: true },
	},
	'garbage on the channel': {
		row: { call: 'require("fs").writeSync(4, "Content-Length: x\\r\\n\\r\\n{}")' },
		...{ kind: 'exited', message: /./ },
	},
	'a 100 MB tool result': {
		row: { call: 'return "x".repeat(100_000_000)' },
		...{ kind: 'size', message: /countUp returned 100,000,000 characters; the limit is 1,048,576/, survives: true },
	},
	'an observation that is a number': {
		row: { reset: 'return 5' },
		...{ kind: 'invalid', message: /reset returned the number 5 instead of a string or null/, survives: true },
	},
	'a reset that throws': {
		row: { reset: 'throw new RangeError("no such level")' },
		...{ kind: 'threw', message: /RangeError: no such level/, survives: true },
	},
	'a reward that is not a number': {
		row: { reward: 'return NaN' },
		...{ kind: 'invalid', message: /getReward returned NaN, but a reward must be a finite number/, survives: true },
	},
	'an unhandled rejection': {
		row: { call: 'Promise.reject(new Error("lost"))' },
		...{ kind: 'threw', message: /Error: lost/, survives: true },
	},
	'an error that cannot be displayed': {
		row: { reset: 'throw { get message() { throw 1 }, toString: null, get stack() { throw 2 } }' },
		...{ kind: 'threw', message: /cannot be displayed/, survives: true },
	},
	'a changed built-in': {
		row: { reward: 'Array.prototype.push = () => 0' },
		...{ kind: 'invalid', message: /Array\.prototype\.push was changed, but all instances share it/, survives: true },
	},
	'unlimited memory use': {
		row: { call: 'self.hoard = []; for (;;) self.hoard.push(new Uint8Array(1 << 20).fill(1))' },
		...{ kind: 'memory', message: /memory/i, turnMs: 30_000 },
	},
};

describe('a bad environment in TypeScript', () => {
	let opened: Promise<EnvironmentRunner> | undefined;
	for (const [what, { row, kind, message, survives, turnMs }] of Object.entries(faults)) {
		it(`${what}: the episode fails with a reason, and the others continue`, async () => {
			const open = (limit: number) =>
				openEnvironment(environment, { name: 'bad.env.ts', limits: { turnMs: limit, memoryMb: 400 } });
			const opening = turnMs === undefined ? (opened ?? open(1500)) : open(turnMs);
			if (turnMs === undefined) opened = opening;
			const runner = await opening;
			const [good, bad] = [runner.start({}), runner.start(row)];
			const count = async () => (await good.call([{ name: 'countUp', arguments: {} }])).results[0]?.content;
			await good.reset();
			assert.equal(await count(), '1');
			const before = (await runner.loaded()).process.pid;
			const run = async () => {
				await bad.reset();
				await bad.call([{ name: 'countUp', arguments: {} }]);
				await bad.reward();
			};
			await assert.rejects(run(), (error: unknown) => {
				assert.ok(error instanceof EpisodeFault, String(error));
				assert.equal(error.error.during, Object.keys(row)[0]);
				assert.equal(error.error.kind, kind, error.message);
				assert.match(error.error.message, message);
				return true;
			});
			await bad.end();
			assert.equal(await count(), '2');
			assert.equal(await good.reward(), 1);
			await good.end();
			assert.equal((await runner.loaded()).process.pid === before, survives === true);
		});
	}
});
