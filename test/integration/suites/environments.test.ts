import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { branchDifference } from '../../../src/core/episode/branchDifferences.ts';
import type { EnvironmentState } from '../../../src/extension/environments/environmentState.ts';
import { environmentInlineLine } from '../../../src/extension/environments/environmentWords.ts';
import { runEnvironmentTests } from '../../../src/extension/environmentTests/environmentTestRun.ts';
import { commandIds } from '../../../src/extension/ids.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, codeLenses, notices, until, workspaceFolder } from '../support/laboratory.ts';

const debuggedGame = `
export class Sum {
	private sum = 0;

	reset(): string {
		this.sum = 0;
		return 'Add numbers.';
	}

	/**
	 * Adds a number.
	 *
	 * @param by The number.
	 */
	add(by: number): string {
		this.sum += by;
		return String(this.sum);
	}
}
`;

suite('environments in the editor', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'environments');
		await mkdir(folder, { recursive: true });
	});

	async function untilState(
		uri: vscode.Uri,
		what: string,
		condition: (state: EnvironmentState) => boolean,
	): Promise<EnvironmentState> {
		const { verifications } = await api.environments.get();
		return await until(what, () => {
			const state = verifications.get(uri.fsPath);
			return state !== undefined && condition(state) && state;
		});
	}

	async function replace(document: vscode.TextDocument, from: string, to: string): Promise<void> {
		const at = document.getText().indexOf(from);
		assert.ok(at >= 0, from);
		const edit = new vscode.WorkspaceEdit();
		const range = new vscode.Range(document.positionAt(at), document.positionAt(at + from.length));
		edit.replace(document.uri, range, to);
		await vscode.workspace.applyEdit(edit);
	}

	test('a new environment is verified; a broken one is marked at its line, until it is fixed', async function () {
		this.timeout(240_000);
		const answers = { template: 'guess', language: 'python', name: 'number_game', folder: vscode.Uri.file(folder) };
		const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newEnvironment, answers);
		assert.equal(uri.fsPath, join(folder, 'number_game.env.py'));
		const document = await vscode.workspace.openTextDocument(uri);
		assert.match(document.getText(), /^class NumberGame:$/m);
		const first = await untilState(uri, 'the file is verified', ({ phase }) => phase === 'done' || phase === 'failed');
		assert.deepEqual(first.verification?.findings, [], String(first.failure));
		assert.match(
			environmentInlineLine(first)?.text ?? '',
			/^setup ok · gold 12 \/ 12 · random 0\.\d+ \(\d+ \/ 12 solved\)/,
		);
		assert.deepEqual(vscode.languages.getDiagnostics(uri), []);

		await replace(document, 'return 1.0 if self.won else 0.0', 'return 1.0');
		assert.match(
			environmentInlineLine((await api.environments.get()).verifications.get(uri.fsPath))?.text ?? '',
			/before the last edit$/,
		);
		await document.save();
		const broken = await untilState(uri, 'the file is verified again', ({ phase, verification }) => {
			return phase === 'done' && verification !== first.verification;
		});
		assert.equal(environmentInlineLine(broken)?.tone, 'error');
		const [mark] = await until('a diagnostic', () => {
			const marks = vscode.languages.getDiagnostics(uri);
			return marks.length > 0 && marks;
		});
		assert.match(mark?.message ?? '', /earns 1\.00 on average, as much as the solutions/);
		assert.match(document.lineAt(mark?.range.start.line ?? 0).text, /def get_reward/);

		await replace(document, 'return 1.0', 'return 1.0 if self.won else 0.0');
		await document.save();
		await until('the diagnostic is gone', () => vscode.languages.getDiagnostics(uri).length === 0);

		await replace(document, 'def reset(', 'def reset((');
		await document.save();
		await untilState(uri, 'the error is found', ({ phase }) => phase === 'failed');
		const line = document
			.getText()
			.split('\n')
			.findIndex((text) => text.includes('def reset(('));
		const faults = await until('the error is marked', () => {
			const marks = vscode.languages.getDiagnostics(uri);
			return marks.length > 0 && marks;
		});
		assert.match(faults[0]?.message ?? '', /SyntaxError/);
		assert.equal(faults[0]?.range.start.line, line);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('a TypeScript environment is marked in the same way', async function () {
		this.timeout(240_000);
		const answers = { template: 'guess', language: 'typescript', name: 'other_game', folder: vscode.Uri.file(folder) };
		const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newEnvironment, answers);
		assert.equal(uri.fsPath, join(folder, 'other_game.env.ts'));
		const document = await vscode.workspace.openTextDocument(uri);
		const first = await untilState(uri, 'the file is verified', ({ phase }) => phase === 'done' || phase === 'failed');
		assert.deepEqual(first.verification?.findings, [], String(first.failure));
		assert.equal(first.verification?.environment.name, 'OtherGame');
		await replace(document, 'this.won ? 1 : 0', '1');
		await document.save();
		const [mark] = await until('a diagnostic', () => {
			const marks = vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'Reasoning Lab');
			return marks.length > 0 && marks;
		});
		assert.match(mark?.message ?? '', /earns 1\.00 on average, as much as the solutions/);
		assert.match(document.lineAt(mark?.range.start.line ?? 0).text, /getReward\(\)/);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('an episode is stepped through, branched, and compared with broken code', async function () {
		this.timeout(120_000);
		const made = { template: 'guess', language: 'python', name: 'stepped_game', folder: vscode.Uri.file(folder) };
		const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newEnvironment, made);
		const document = await vscode.workspace.openTextDocument(uri);
		await untilState(uri, 'the file is verified', ({ phase }) => phase === 'done');
		const lenses = await codeLenses(uri);
		const step = lenses.find(({ command }) => command?.title === 'Step Through')?.command;
		assert.match(document.lineAt(lenses[0]?.range.start.line ?? 0).text, /^class SteppedGame/);
		assert.ok(step);
		await vscode.commands.executeCommand(step.command, ...(step.arguments ?? []));
		const panel = await api.episodes.open({ file: uri.fsPath, runFolder: null });
		const { session } = panel;
		await until('the page has loaded the environment', () => session.files.length > 0);
		await session.settled;
		const call = (branch: number, turn: number, number: number) =>
			session.call({ type: 'call', branch, turn, calls: [{ name: 'guess', arguments: { number } }] });
		const answers = (branch: number) => session.branch(branch).turns.map(({ results }) => results[0]?.content);

		session.reset({ type: 'reset', index: 0, columns: { number: 42 }, seed: 1 });
		await session.settled;
		call(1, 0, 50);
		await session.settled;
		call(1, 1, 25);
		await session.settled;
		assert.equal(answers(1).length, 2);
		call(1, 1, 42);
		await session.settled;
		assert.deepEqual(session.branch(2).origin, { kind: 'branch', of: 1, turn: 1 });
		assert.equal(answers(2)[0], answers(1)[0]);
		assert.equal(session.branch(2).turns[1]?.done, true);

		const saved = await panel.save(2, 'found in two turns');
		assert.equal(saved, join(folder, 'stepped_game.episodes.jsonl'));
		assert.match(
			await readFile(saved, 'utf8'),
			/^\{"name":"found in two turns","row":\{"number":42\},"calls":\[\{"name":"guess"/,
		);

		await replace(document, 'self.won = number ==', 'self.won = number !=');
		await document.save();
		const replayed = await until('the page has the replayed calls', () => {
			const replay = session.branches.find(({ origin }) => origin.kind === 'replay');
			return replay?.turns.length === 2 && replay;
		});
		assert.equal(replayed.turns[0]?.done, true);
		const { first, turns } = branchDifference(replayed, session.branch(2));
		assert.deepEqual([first, turns[0]?.kind], [1, 'differs']);

		await vscode.commands.executeCommand(commandIds.openEpisode, uri, { row: 0, policy: 'gold' });
		const recorded = session.branches.at(-1);
		assert.deepEqual(recorded?.origin, { kind: 'recorded', label: 'gold, row 1' });
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('a policy plays in the search worker, and the inline text shows its result until it plays again', async function () {
		this.timeout(240_000);
		const answers = { template: 'guess', language: 'typescript', name: 'policy_game', folder: vscode.Uri.file(folder) };
		const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newEnvironment, answers);
		await untilState(uri, 'the file is verified', ({ phase }) => phase === 'done');
		const script = join(folder, 'fifty.json');
		// Guesses 50 in every episode, then gives up.
		const rules = [{ after: '*</result>', say: 'I give up.' }, { say: '<call>guess 50</call>' }];
		await writeFile(script, JSON.stringify({ rules }));
		const lenses = await codeLenses(uri);
		const lens = lenses.find(({ command }) => command?.title === 'Verify with Policy')?.command;
		assert.ok(lens);
		const play = (file: string) => {
			const policy = { kind: 'scripted', file };
			return vscode.commands.executeCommand(lens.command, ...(lens.arguments ?? []), policy);
		};
		await play(script);
		const { verifications } = await api.environments.get();
		const line = () => environmentInlineLine(verifications.get(uri.fsPath))?.text ?? '';
		assert.match(
			line(),
			/ · gold 12 \/ 12 · policy 0\.\d+ \(\d+ \/ 12 solved, [^,)]+\) · random 0\.\d+ \(\d+ \/ 12 solved\) · idle 0\.00 · /,
		);
		const episodes = verifications.get(uri.fsPath)?.verification?.episodes ?? [];
		const played = episodes.filter(({ policy }) => policy === 'policy');
		assert.deepEqual(
			played.map(({ turns }) => turns.map(({ calls }) => calls[0]?.arguments)),
			played.map(() => [{ number: 50 }]),
		);
		const before = notices.length;
		await play(join(folder, 'missing.json'));
		assert.match(notices[before]?.text ?? '', /missing\.json: no such file or directory/);
		assert.match(
			line(),
			/ · policy 0\.\d+ \(\d+ \/ 12 solved, [^,)]+, earlier\) · /,
			'the environment itself is verified',
		);
		assert.deepEqual(vscode.languages.getDiagnostics(uri), []);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('setup, gold, idle and labeled episodes are tests', async function () {
		this.timeout(240_000);
		const answers = { template: 'guess', language: 'python', name: 'tested_game', folder: vscode.Uri.file(folder) };
		const { fsPath: file } = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newEnvironment, answers);
		const guess = (number: number) => ({ name: 'guess', arguments: { number } });
		const row = { number: 50, high: 100, guesses: 7 };
		const lines = [
			{ name: 'right', row, calls: [guess(50)], expect: { reward: 1, results: ['Correct!'] } },
			{ name: 'wrong', row, calls: [guess(50)], expect: { reward: 0 } },
		];
		await writeFile(join(folder, 'tested_game.episodes.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
		const { environmentTests } = await api.background.get();
		const { controller, items } = environmentTests;
		const token = new vscode.CancellationTokenSource().token;
		await controller.refreshHandler?.(token);
		const item = controller.items.get(file);
		assert.ok(item, 'a refresh lists the file');
		const results = new Map<string, unknown>();
		const keep = (state: string) => (test: vscode.TestItem, message?: unknown) => {
			const { message: words, location } = (message ?? {}) as Partial<vscode.TestMessage>;
			results.set(test.label, words === undefined ? state : [state, words, location?.range.start.line]);
		};
		const run = {
			...{ enqueued: () => {}, started: () => {}, appendOutput: () => {} },
			...{ passed: keep('passed'), failed: keep('failed'), errored: keep('errored'), skipped: keep('skipped') },
		} as unknown as vscode.TestRun;
		const { verifications } = await api.environments.get();
		await runEnvironmentTests(run, await items.testsOf(item), { items, verifications }, token);
		assert.deepEqual(Object.fromEntries(results), {
			'Setup: every episode starts': 'passed',
			'Gold: solutions succeed': 'passed',
			'Idle: doing nothing earns less than the solutions': 'passed',
			right: 'passed',
			wrong: ['failed', 'the reward is 1, but 0 is expected.', 1],
		});
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('an episode is debugged: the debugger stops in the tool of the selected turn', async function () {
		this.timeout(240_000);
		const file = join(folder, 'debugged_game.env.ts');
		await writeFile(file, debuggedGame);
		const panel = await api.episodes.open({ file, runFolder: null });
		const { session } = panel;
		await until('the page has loaded the environment', () => session.files.length > 0);
		await session.settled;
		session.reset({ type: 'reset', index: null, columns: {}, seed: 1 });
		await session.settled;
		for (const [turn, by] of [2, 3, 4].entries()) {
			session.call({ type: 'call', branch: 1, turn, calls: [{ name: 'add', arguments: { by } }] });
			await session.settled;
		}
		const stops: number[] = [];
		const tracker = vscode.debug.registerDebugAdapterTrackerFactory('*', {
			createDebugAdapterTracker: (debugged) => ({
				onDidSendMessage: async (message: { type: string; event?: string; body?: { threadId: number } }) => {
					if (message.type !== 'event' || message.event !== 'stopped' || message.body === undefined) return;
					const { threadId } = message.body;
					const { stackFrames } = await debugged.customRequest('stackTrace', { threadId });
					stops.push(stackFrames[0]?.line);
					await debugged.customRequest('continue', { threadId });
				},
			}),
		});
		const before = notices.length;
		try {
			panel.debug(1, 2);
			await until('the result of the turn', () => notices.slice(before).some(({ text }) => text === 'Turn 2: 5'), 120);
		} finally {
			tracker.dispose();
		}
		assert.deepEqual(stops, [debuggedGame.split('\n').findIndex((line) => line.includes('+= by')) + 1]);
		assert.equal(vscode.debug.breakpoints.length, 0, 'the temporary breakpoint is removed');
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('a name that is taken or invalid is rejected', async () => {
		for (const name of ['number_game', '../outside', 'class name']) {
			const answers = { template: 'guess', language: 'python', name, folder: vscode.Uri.file(folder) };
			const before = notices.length;
			assert.equal(await vscode.commands.executeCommand(commandIds.newEnvironment, answers), undefined);
			assert.match(notices[before]?.text ?? '', /is not a valid environment name/);
		}
	});
});
