/**
 * Checks that the editor stays responsive while a reward misbehaves: measures event loop delay in the process that runs
 * verification, using the extension host's classes and options, for each bad reward. Also checks that the next save
 * recovers.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { faultsOf } from '../../src/extension/rewards/rewardFaults.ts';
import { RewardSession } from '../../src/extension/rewards/rewardSession.ts';
import { inlineLine, shortSummary } from '../../src/extension/rewards/rewardWords.ts';
import { unreachedLines } from '../../src/extension/rewards/unreachedLines.ts';
import { RewardHosts } from '../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../src/rewards/rewardPrograms.ts';
import type { RewardPrograms } from '../../src/rewards/rewardRunner.ts';
import { RewardVerifier } from '../../src/rewards/rewardVerifier.ts';
import { root } from '../scripts/paths.ts';
import { badRewards } from '../support/badRewards.ts';
import { isLate, type LoopDelay, loopDelayDuring } from '../support/loopDelay.ts';

const minMs = 2000;
const standard = { rowMs: 1000, batchMs: 3000, loadMs: 3000, memoryMb: 512, processes: 40 };
const problems = Array.from({ length: 60 }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: String(i + 1) }));
const harmless = {
	py: '# @dataset train.jsonl\ndef bad(completions, **kwargs):\n    return [0.5] * len(completions)\n',
	mjs: '// @dataset train.jsonl\nexport const bad = () => 0.5;\n',
} as const;

let folder: string;
let programs: RewardPrograms;

/** Opens a session like the editor's and renders its messages, as far as possible without an editor. */
async function openSession(ending: 'py' | 'mjs', { run = programs, limits = standard } = {}) {
	const place = await mkdtemp(join(folder, 'project-'));
	await writeFile(join(place, 'train.jsonl'), problems.join('\n'));
	const file = join(place, `bad.reward.${ending}`);
	await writeFile(file, harmless[ending]);
	const hosts = new RewardHosts(run, {
		folder: join(root, 'dist'),
		limits,
		spares: true,
		reloadOnChange: true,
		coverage: true,
	});
	const verifier = new RewardVerifier((source, special) => hosts.open(source, special));
	const session = new RewardSession(file, {
		verifier: async () => verifier,
		request: () => ({ file, folders: [place], rows: 200 }),
		limits: () => limits,
		coverage: () => true,
		log: () => undefined,
	});
	const words = () => [
		inlineLine(session.state, 'bad')?.text,
		...faultsOf(session.state).map(({ message }) => message),
	];
	session.onDidChange(() => [words(), unreachedLines(session.state), shortSummary(session.state.results.get('bad'))]);
	return {
		session,
		words,
		verify: async (text: string) => {
			await writeFile(file, text);
			await session.verify();
		},
		close: async () => {
			session.dispose();
			verifier.dispose();
			hosts.dispose();
			await hosts.closed();
		},
	};
}

const written = ({ p50, p95, max, own, waiting, seconds }: LoopDelay) =>
	[
		`p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, max ${max.toFixed(1)} ms in ${seconds.toFixed(1)} s`,
		`its own work: p95 ${own.p95.toFixed(1)} ms, max ${own.max.toFixed(1)} ms`,
		`waiting for a CPU: ${waiting === null ? 'unknown' : `${(100 * waiting).toFixed(0)}%`}`,
	].join('; ');

/** Repeats work that finishes quickly, so that there is enough to measure. */
async function holds(name: string, work: () => Promise<unknown>): Promise<void> {
	const delay = await loopDelayDuring(async () => {
		const start = performance.now();
		do await work();
		while (performance.now() - start < minMs);
	});
	console.error(`${name}: ${written(delay)}`);
	assert.ok(!isLate(delay), `the event loop was delayed: ${written(delay)}`);
}

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'rlbad-'));
	await mkdir(join(folder, 'run'), { mode: 0o700 });
	process.env.XDG_RUNTIME_DIR = join(folder, 'run');
	programs = await findRewardPrograms();
});
after(() => rm(folder, { recursive: true, force: true }));

describe('event loop delay stays below 50 ms for', () => {
	for (const [name, bad] of Object.entries(badRewards)) {
		for (const [ending, text] of [
			['py', bad.python],
			['mjs', bad.node],
		] as const) {
			it(`${name} (${ending})`, { timeout: 180_000 }, async () => {
				const limits = { ...standard, ...bad.limits };
				const { session, words, verify, close } = await openSession(ending, { limits });
				try {
					await session.verify();
					assert.equal(words()[0]?.slice(0, 4), '0.50');
					await holds(`${name} (${ending})`, () => verify(text));
					assert.equal(session.state.phase, bad.loads === false ? 'failed' : 'done');
					assert.match(words().join('\n'), new RegExp(bad.says, 'm'));
					await verify(`${harmless[ending]}\n`);
					assert.deepEqual([session.state.phase, words().length, words()[0]?.slice(0, 4)], ['done', 1, '0.50']);
				} finally {
					await close();
				}
			});
		}
	}

	for (const ending of ['py', 'mjs'] as const) {
		it(`a missing interpreter (${ending})`, async () => {
			const nowhere = join(folder, 'nowhere');
			const missing = await openSession(ending, { run: { node: nowhere, nodeEnvironment: {}, python: nowhere } });
			try {
				await holds(`a missing interpreter (${ending})`, () => missing.verify(harmless[ending]));
				assert.match(missing.words().join('\n'), /bad\.reward.* needs .* cannot be started/);
			} finally {
				await missing.close();
			}
		});
	}
});
