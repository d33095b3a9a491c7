import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { faultsOf } from '../../../../src/extension/rewards/rewardFaults.ts';
import { RewardSession, type SessionNeeds } from '../../../../src/extension/rewards/rewardSession.ts';
import { inlineLine, shortSummary, standingOf } from '../../../../src/extension/rewards/rewardWords.ts';
import { unreachedLines } from '../../../../src/extension/rewards/unreachedLines.ts';
import { RewardVerifier } from '../../../../src/rewards/rewardVerifier.ts';
import { openHosts, rewardFolder } from '../../rewards/hostFixtures.ts';

const rows = Array.from({ length: 30 }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: String(i + 1) }));

interface Opened {
	readonly session: RewardSession;
	readonly logs: string[];
	write(text: string): Promise<void>;
}

/** Opens a session on a new file next to a dataset; processes load the saved text. */
async function open(name: string, text: string, limits = {}): Promise<Opened> {
	const folder = join(await rewardFolder(), 'project');
	await mkdir(folder);
	await writeFile(join(folder, 'train.jsonl'), rows.join('\n'));
	const file = join(folder, name);
	await writeFile(file, text);
	const hosts = await openHosts({ reloadOnChange: true, coverage: true, limits });
	const verifier = new RewardVerifier((source, special) => hosts.open(source, special));
	const logs: string[] = [];
	const needs: SessionNeeds = {
		verifier: async () => verifier,
		request: () => ({ file, folders: [folder], rows: 50 }),
		limits: () => limits,
		coverage: () => true,
		log: (_file, _reward, lines) => logs.push(...lines),
	};
	return { session: new RewardSession(file, needs), logs, write: (next) => writeFile(file, next) };
}

const comment = '// @dataset train.jsonl\n';
const right = `${comment}export const right = ({ trace, answer }) => {
	if (trace.answer === null)
		return 0;
	return trace.answer === answer ? 1 : 0;
};
`;

test('a session verifies, reports once, and remembers the rows it scored', async () => {
	const { session } = await open('right.reward.mjs', right);
	let reported = 0;
	session.onDidChange(() => reported++);
	assert.equal(inlineLine(session.state, 'right'), null);
	await session.verify();
	const { state } = session;
	assert.equal(state.phase, 'done');
	assert.match(inlineLine(state, 'right')?.text ?? '', /^0\.20 ± 0\.40 · gold 100%/);
	assert.equal(standingOf(state, 'right'), 'good');
	assert.match(shortSummary(state.results.get('right')), /^0\.20 ± 0\.40, gold 100%$/);
	assert.deepEqual(unreachedLines(state), [4]);
	assert.ok(reported >= 1);
	const verification = state.results.get('right')?.data;
	assert.ok(verification);
	const asked = session.rowsOf(verification);
	assert.deepEqual(
		asked?.map(({ row }) => row.completion),
		verification.rows.map(({ completion }) => completion),
	);
	assert.ok(state.files.some((file) => file.endsWith('train.jsonl')));
	session.dispose();
});

test('a newer start replaces the older one, so the final result is for the latest text', async () => {
	const { session, write } = await open('right.reward.mjs', right);
	await session.verify();
	const starts: Promise<void>[] = [];
	for (let i = 1; i <= 5; i++) {
		await write(right.replace('? 1 : 0', `? ${i} : 0`));
		starts.push(session.verify());
	}
	await Promise.all(starts);
	await session.settled();
	assert.equal(session.state.phase, 'done');
	assert.equal(session.state.results.get('right')?.data?.statistics.max, 5);
	session.dispose();
});

test('every bad input ends in a message at a line, and the next save is verified again', async () => {
	const { session, write, logs } = await open('right.reward.mjs', right, { batchMs: 1000, rowMs: 150, memoryMb: 256 });
	const bad: readonly [what: string, text: string, line: number | null, words: RegExp][] = [
		['syntax', `${comment}\nexport const right = = 1;\n`, 3, /^not verified, line 3: /],
		['import', `${comment}import './nowhere.mjs';\nexport const right = () => 1;\n`, 2, /^not verified, line 2: /],
		['no reward', `${comment}export const right = 1;\n`, 1, /^not verified/],
		['throws', right.replace('return 0', 'throw new Error("x")').replace('=== null', '!== null'), 4, /^50 errors/],
		['text', right.replace('? 1 : 0', '? "one" : 0'), null, /^10 errors · 0\.00 ± 0\.00/],
		['loop', right.replace('=== null)', '!== null) for (;;);').replace('return 0;', ''), null, /50 errors/],
	];
	for (const [what, text, line, words] of bad) {
		await write(text);
		await session.verify();
		const shown = inlineLine(session.state, 'right') ?? { text: session.state.failure?.message ?? '', tone: 'error' };
		assert.match(shown.text, words, what);
		assert.equal(shown.tone, 'error', what);
		assert.equal(standingOf(session.state, 'right'), 'error', what);
		const [fault] = faultsOf(session.state);
		assert.ok(fault, what);
		assert.equal(fault.level, 'error');
		if (line !== null) assert.equal(fault.line, line, `${what}: ${fault.message}`);
		await write(right);
		await session.verify();
		assert.equal(session.state.phase, 'done', what);
		assert.deepEqual(faultsOf(session.state), [], what);
	}
	await write(right.replace('\tif', '\tconsole.log("seen");\n\tif'));
	await session.verify();
	assert.ok(logs.includes('seen'), logs.join('\n'));
	session.dispose();
});

test('a selection is scored as a completion of a problem until it is cleared', async () => {
	const { session } = await open('right.reward.mjs', right);
	const third = (await session.problems())[2]?.problem;
	assert.ok(third);
	await session.verifySelection(`<think></think><answer>${third.answer}</answer>`, 'right', 2);
	assert.equal(session.state.phase, 'done');
	const selected = session.state.results.get('right')?.selection;
	assert.equal(selected?.rows.length, 1);
	assert.equal(selected?.rows[0]?.prompt, third.prompt);
	assert.equal(selected?.rows[0]?.value, 1);
	assert.match(inlineLine(session.state, 'right')?.text ?? '', /selection: 1\.00$/);
	session.forgetSelection();
	await session.verify();
	assert.equal(session.state.results.get('right')?.selection, null);
	session.dispose();
});

test('canceling keeps earlier results, and nothing changes after disposal', async () => {
	const { session, write } = await open('right.reward.mjs', right);
	await session.verify();
	await write(right.replace('? 1 : 0', '? 2 : 0'));
	const again = session.verify();
	session.cancel();
	await again;
	assert.equal(session.state.phase, 'done');
	assert.equal(session.state.results.get('right')?.data?.statistics.max, 1);
	const last = session.verify();
	session.dispose();
	await last;
	assert.equal(session.state.results.get('right')?.data?.statistics.max, 1);
});

test('a file with slow imports is shown as loading', async () => {
	const { session } = await open('right.reward.mjs', `await new Promise((go) => setTimeout(go, 800));\n${right}`);
	const seen: string[] = [];
	session.onDidChange(() => seen.push(inlineLine(session.state, 'right')?.text ?? ''));
	await session.verify();
	assert.equal(seen[0], 'loading…');
	assert.match(seen.at(-1) ?? '', /^0\.20/);
	session.dispose();
});

test('a failed case and an invalid case line are warnings in the case file', async () => {
	const { session } = await open('right.reward.mjs', right);
	const cases = session.file.replace('.reward.mjs', '.cases.jsonl');
	const one = { completion: '<answer>2</answer>', row: { answer: '2' }, expect: 0 };
	await writeFile(cases, `${JSON.stringify(one)}\n{"completion": 1}\n`);
	await session.verify();
	assert.deepEqual(
		faultsOf(session.state).map(({ file, line, level }) => [file === cases, line, level]),
		[
			[true, 2, 'warning'],
			[true, 1, 'warning'],
		],
	);
	assert.match(inlineLine(session.state, 'right')?.text ?? '', /^1 of 1 case failed/);
	session.dispose();
});

test('nothing runs where execution is not allowed', async () => {
	const refused = new Error('not trusted');
	const session = new RewardSession('/nowhere/a.reward.ts', {
		verifier: () => Promise.reject(refused),
		request: () => assert.fail('data is read'),
		limits: () => ({}),
		coverage: () => false,
		log: () => {},
	});
	await session.verify();
	assert.equal(session.state.phase, 'failed');
	assert.match(session.state.failure?.message ?? '', /not trusted/);
	session.dispose();
});
