import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { RewardVerifier } from '../../../../src/rewards/rewardVerifier.ts';
import { openHosts, rewardFolder } from '../../rewards/hostFixtures.ts';
import { type PickItem, picks, window, workspace } from '../vscodeStandIn.ts';

const { RewardSession } = await import('../../../../src/extension/rewards/rewardSession.ts');
const { VerifyCommands } = await import('../../../../src/extension/rewards/verifyCommands.ts');

afterEach(() => {
	picks.length = 0;
	Object.assign(window, { activeTextEditor: undefined });
	Object.assign(workspace, { isTrusted: false });
});

/** Opens a reward file next to a dataset with `problems` rows, with a completion of the last one selected. */
async function opened(problems: number) {
	const folder = join(await rewardFolder(), 'project');
	await mkdir(folder);
	const rows = Array.from({ length: problems }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: `${i + 1}` }));
	await writeFile(join(folder, 'train.jsonl'), rows.join('\n'));
	const file = join(folder, 'right.reward.mjs');
	const reward = 'export const right = ({ trace, answer }) => (trace.answer === answer ? 1 : 0);';
	await writeFile(file, `// @dataset train.jsonl\n${reward}\n`);
	const hosts = await openHosts({});
	const verifier = new RewardVerifier((source, special) => hosts.open(source, special));
	const session = new RewardSession(file, {
		verifier: async () => verifier,
		request: () => ({ file, folders: [folder], rows: 50 }),
		limits: () => ({}),
		coverage: () => false,
		log: () => undefined,
	});
	const reported: string[] = [];
	const commands = new VerifyCommands({
		targets: { reward: async () => ({ file, reward: 'right' }) } as never,
		verifications: { session: () => session } as never,
		store: {} as never,
		notices: { information: (text: string) => void reported.push(text) } as never,
		results: { show: () => undefined },
		debugging: {} as never,
	});
	const document = { getText: () => `<think></think><answer>${problems}</answer>` };
	Object.assign(window, { activeTextEditor: { document, selection: { isEmpty: false } } });
	Object.assign(workspace, { isTrusted: true });
	return { commands, session, reported };
}

test('the user is asked which problem a selection answers, but only if there are several', async () => {
	const one = await opened(1);
	await one.commands.verifySelection();
	assert.deepEqual(one.reported, ['right on the selection: 1.00']);
	one.session.dispose();
	for (const [label, value] of [
		['0+1=', '0.00'],
		['1+1=', '1.00'],
	] as const) {
		const two = await opened(2);
		let offered: readonly PickItem[] = [];
		picks.push((items) => {
			offered = items;
			return items.find((item) => item.label.startsWith(label));
		});
		await two.commands.verifySelection();
		assert.equal(picks.length, 0, 'the user was asked');
		assert.deepEqual(
			offered.map((item) => item.description),
			['1', '2'],
		);
		assert.deepEqual(two.reported, [`right on the selection: ${value}`]);
		two.session.dispose();
	}
});

test('an empty selection, an untrusted workspace and a dismissed list score nothing', async () => {
	const { commands, session, reported } = await opened(2);
	picks.push(undefined);
	await commands.verifySelection();
	Object.assign(workspace, { isTrusted: false });
	await assert.rejects(
		commands.verifySelection('', '', 1),
		/Rewards are disabled because this workspace is not trusted/,
	);
	Object.assign(window, { activeTextEditor: undefined });
	await assert.rejects(commands.verifySelection(), /No text is selected/);
	assert.deepEqual(reported, []);
	assert.equal(session.state.results.get('right')?.selection ?? null, null);
	session.dispose();
});
