import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultEnvironmentLimits, type EnvironmentLimits } from '../../../src/episodes/environmentRunner.ts';
import { EpisodeFault } from '../../../src/episodes/episodeSession.ts';
import type { EpisodeError } from '../../../src/protocol/episode.ts';
import { processesWith, until } from '../rewards/hostFixtures.ts';
import { openEnvironment } from './environmentFixtures.ts';

/** An environment whose tool does something bad on rows with `bad`, and otherwise counts. */
const environment = (body: string, where: 'reset' | 'call' | 'reward') =>
	[
		'import os, sys, time',
		'class Bad:',
		'    def reset(self, bad=False, **row):',
		'        self.bad, self.count = bad, 0',
		`        ${where === 'reset' ? `if bad: ${body}` : 'pass'}`,
		'        return "ready"',
		'    def count_up(self) -> str:',
		'        """Counts."""',
		'        self.count += 1',
		`        ${where === 'call' ? `if self.bad: ${body}` : 'pass'}`,
		'        return str(self.count)',
		'    def get_reward(self):',
		`        ${where === 'reward' ? `if self.bad: ${body}` : 'pass'}`,
		'        return 1.0',
	].join('\n');

interface Fault {
	readonly body: string;
	readonly where: 'reset' | 'call' | 'reward';
	readonly kind: EpisodeError['kind'];
	readonly message: RegExp;
	readonly line?: number;
	readonly limits?: Partial<EnvironmentLimits>;
	/** Whether the process survives. */
	readonly survives?: boolean;
}

const quick = { turnMs: 700 };
const faults: Readonly<Record<string, Fault>> = {
	'a tool that never returns': {
		body: 'any(False for _ in iter(int, 1))',
		where: 'call',
		kind: 'timeout',
		message: /exceeded its time limit of 700 ms/,
		line: 10,
		limits: quick,
	},
	'a reset that waits forever': {
		body: 'time.sleep(1000)',
		where: 'reset',
		kind: 'timeout',
		message: /time limit/,
		line: 5,
		limits: quick,
	},
	'a tool that ends its process': {
		body: 'os._exit(7)',
		where: 'call',
		kind: 'exited',
		message: /The environment process exited with code 7/,
	},
	'a reward that kills its process': {
		body: 'os.kill(os.getpid(), 9)',
		where: 'reward',
		kind: 'exited',
		message: /The environment process was killed by SIGKILL/,
	},
	'a tool that calls sys.exit': {
		body: 'sys.exit(2)',
		where: 'call',
		kind: 'exited',
		message: /sys\.exit\(2\) was called/,
		line: 10,
		survives: true,
	},
	'garbage on the channel': {
		body: '[os.write(fd, b"Content-Length: x\\r\\n\\r\\n{}") for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")]',
		where: 'call',
		kind: 'exited',
		message: /./,
	},
	'a 100 MB tool result': {
		body: 'return "x" * 100_000_000',
		where: 'call',
		kind: 'size',
		message: /count_up returned 100,000,000 characters; the limit is 1,048,576/,
		survives: true,
	},
	'a 100 MB observation': {
		body: 'return "x" * 100_000_000',
		where: 'reset',
		kind: 'size',
		message: /reset returned 100,000,000 characters/,
		survives: true,
	},
	'a tool result that is a list': {
		body: 'return [1, 2]',
		where: 'call',
		kind: 'invalid',
		message: /count_up returned a list, which trainers read as content blocks/,
		survives: true,
	},
	'an observation that is a number': {
		body: 'return 5',
		where: 'reset',
		kind: 'invalid',
		message: /reset returned the number 5 instead of a string or None/,
		survives: true,
	},
	'a reset that raises': {
		body: 'raise KeyError("no such level")',
		where: 'reset',
		kind: 'threw',
		message: /KeyError: 'no such level'/,
		line: 5,
		survives: true,
	},
	'a reward that is not a number': {
		body: 'return float("nan")',
		where: 'reward',
		kind: 'invalid',
		message: /get_reward returned nan, but a reward must be a finite number/,
		survives: true,
	},
	'a reward that raises': {
		body: 'raise RuntimeError("unset")',
		where: 'reward',
		kind: 'threw',
		message: /RuntimeError: unset/,
		line: 13,
		survives: true,
	},
	'unlimited memory use': {
		body: 'self.hoard = [bytearray(1 << 20) for _ in range(4000)]',
		where: 'call',
		kind: 'memory',
		message: /memory/i,
		limits: { memoryMb: 150 },
	},
	'a fork bomb': {
		body: '[os.fork() for _ in range(6)] and time.sleep(100)',
		where: 'call',
		kind: 'processes',
		message: /The environment had \d+ processes, exceeding its limit of 16/,
		limits: { processes: 16 },
	},
};

describe('a bad environment', () => {
	for (const [what, { body, where, kind, message, line, limits, survives }] of Object.entries(faults)) {
		it(`${what}: the episode fails with a reason, and the others continue`, async () => {
			const runner = await openEnvironment(environment(body, where), limits === undefined ? {} : { limits });
			const [good, bad] = [runner.start({ bad: false }), runner.start({ bad: true })];
			await good.reset();
			assert.equal((await good.call([{ name: 'count_up', arguments: {} }])).results[0]?.content, '1');
			const before = (await runner.loaded()).process.pid;
			const run = async () => {
				await bad.reset();
				await bad.call([{ name: 'count_up', arguments: {} }]);
				await bad.reward();
			};
			await assert.rejects(run(), (error: unknown) => {
				assert.ok(error instanceof EpisodeFault, String(error));
				assert.equal(error.error.during, where);
				assert.equal(error.error.kind, kind, error.message);
				assert.match(error.error.message, message);
				assert.equal(error.error.line, line, 'line');
				return true;
			});
			await bad.end();
			// The other episode has lost nothing, in the same process or in a new one.
			assert.equal((await good.call([{ name: 'count_up', arguments: {} }])).results[0]?.content, '2');
			assert.equal(await good.reward(), 1);
			assert.equal((await runner.loaded()).process.pid === before, survives === true);
		});
	}

	const forms: Readonly<Record<string, string>> = {
		'no header': 'hello',
		'a message that is not JSON': 'Content-Length: 5\\r\\n\\r\\nhello',
		'a notification': 'Content-Length: 32\\r\\n\\r\\n{"jsonrpc": "2.0", "method": "a"}',
	};
	for (const [what, form] of Object.entries(forms)) {
		it(`garbage on the channel (${what}): the episode that wrote it fails, not a later one`, async () => {
			const write = `[os.write(fd, b'${form}') for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")]`;
			const text = [
				'import os, threading',
				'class Writes:',
				'    def reset(self, how=None, **row): self.how = how',
				'    def look(self) -> str:',
				'        """Looks."""',
				`        def write(): ${write}`,
				'        if self.how == "now": write()',
				'        if self.how == "later": threading.Timer(0.1, write).start()',
				'        return "seen"',
			].join('\n');
			const runner = await openEnvironment(text);
			const look = [{ name: 'look', arguments: {} }];
			const [good, now, later] = [runner.start({}), runner.start({ how: 'now' }), runner.start({ how: 'later' })];
			for (const one of [good, now, later]) await one.reset();
			await assert.rejects(now.call(look), (error: unknown) => {
				assert.ok(error instanceof EpisodeFault);
				assert.equal(error.error.kind, 'exited');
				return true;
			});
			assert.equal((await good.call(look)).results[0]?.content, 'seen');
			// Garbage that is written between episodes ends the process, but fails no episode.
			assert.equal((await later.call(look)).results[0]?.content, 'seen');
			const { process: host } = await runner.loaded();
			await until(async () => !host.alive);
			assert.equal((await good.call(look)).results[0]?.content, 'seen');
		});
	}

	it('an episode that cannot be repeated in a new process fails instead of continuing with a different state', async () => {
		const text = [
			'import os',
			'class Drifts:',
			'    def reset(self, kill=False, **row): self.kill = kill',
			'    def look(self) -> str:',
			'        """Looks."""',
			'        if self.kill: os._exit(1)',
			'        return str(os.getpid())',
		].join('\n');
		const runner = await openEnvironment(text);
		const [good, bad] = [runner.start({}), runner.start({ kill: true })];
		await good.reset();
		await bad.reset();
		await good.call([{ name: 'look', arguments: {} }]);
		await assert.rejects(bad.call([{ name: 'look', arguments: {} }]), /exited with code 1/);
		await assert.rejects(good.call([{ name: 'look', arguments: {} }]), (error: unknown) => {
			assert.ok(error instanceof EpisodeFault);
			assert.equal(error.error.kind, 'changed');
			return true;
		});
	});

	it('any amount of output is logged and does not disturb the protocol', async () => {
		const text = [
			'import sys',
			'class Prints:',
			'    def reset(self, **row): print("Content-Length: 5\\r\\n\\r\\nhello")',
			'    def spam(self) -> str:',
			'        """Prints."""',
			'        for _ in range(20000): print("spam " * 20)',
			'        return "done"',
		].join('\n');
		const runner = await openEnvironment(text);
		const session = runner.start({});
		await session.reset();
		assert.equal((await session.call([{ name: 'spam', arguments: {} }])).results[0]?.content, 'done');
		assert.ok(session.logs.includes('hello'));
		assert.ok(session.logs.length <= 200);
	});

	it('leaves nothing behind', async () => {
		const text = [
			'import subprocess',
			'class Starts:',
			'    def reset(self, mark, **row): subprocess.Popen(["sleep", "1000"], env={"MARK": mark}, start_new_session=True)',
		].join('\n');
		const runner = await openEnvironment(text);
		const mark = `left-${process.pid}`;
		await runner.start({ mark }).reset();
		// A program's environment becomes readable only after a delay.
		await until(async () => (await processesWith(`MARK=${mark}`)).length === 1);
		const { process: host } = await runner.loaded();
		runner.dispose();
		await host.ended;
		assert.deepEqual(await processesWith(`MARK=${mark}`), []);
	});

	it('requests after the end are canceled', async () => {
		const runner = await openEnvironment(environment('pass', 'call'));
		const session = runner.start({});
		await session.reset();
		runner.dispose();
		await assert.rejects(session.call([]), { reason: 'cancelled' });
		await assert.rejects(runner.describe(), { reason: 'cancelled' });
	});

	it('has documented limits', () => {
		assert.deepEqual(defaultEnvironmentLimits, { turnMs: 10_000, loadMs: 60_000, memoryMb: 2048, processes: 64 });
	});
});
