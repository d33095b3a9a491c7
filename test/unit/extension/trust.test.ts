import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CommandId, commandIds } from '../../../src/extension/ids.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import { trustedCommands } from '../../../src/extension/trustedCommands.ts';
import { commands } from './vscodeStandIn.ts';

const { RunStarter } = await import('../../../src/extension/runStarter.ts');

test('without trust, nothing is started, whatever the entry point', async () => {
	const touched = new Proxy({} as never, {
		get: (_, name) => assert.fail(`${String(name)} is used although the workspace is not trusted`),
	});
	const starter = new RunStarter(touched);
	const view = { folder: '/nowhere' } as RunView;
	for (const attempt of [
		async () => starter.start({ fsPath: '/nowhere/a.recipe.json' } as never),
		async () => starter.resume(view),
		async () => starter.branch(view, null),
		async () => starter.resumePipeline('/nowhere', 'a pipeline'),
		async () => starter.startPipelineAgain('/nowhere', 'a pipeline'),
	]) {
		await assert.rejects(attempt, { reason: 'denied' });
	}
});

test('without trust, no reward runs: no process starts, and its environment is not searched for', async () => {
	const { VerifierPool } = await import('../../../src/extension/rewards/verifierPool.ts');
	const touched = new Proxy({} as never, {
		get: (_, name) => assert.fail(`${String(name)} is used although the workspace is not trusted`),
	});
	const pool = new VerifierPool(touched, '/nowhere');
	await assert.rejects(pool.of('/nowhere/a.reward.py'), { reason: 'denied' });
	await assert.rejects(pool.hosts('/nowhere/a.reward.py'), { reason: 'denied' });
	pool.dispose();
});

test('without trust, no policy runs and no key is read, but trees can be viewed', async () => {
	const { WindowSearches } = await import('../../../src/extension/search/windowSearches.ts');
	const secret = () => assert.fail('secrets are read although the workspace is not trusted');
	const uri = { fsPath: '/nowhere' } as never;
	const searches = new WindowSearches({
		...{ extension: uri, storage: uri, client: 'test', log: () => undefined, keys: secret, environment: secret },
		memoryMb: secret,
	});
	const spec = { policy: { kind: 'scripted', file: '/nowhere/script.json' }, strategy: 'mcts' } as const;
	const problem = { prompt: 'p' };
	await assert.rejects(searches.start({ spec, problem, log: '/nowhere/a.jsonl' }), { reason: 'denied' });
	await assert.rejects(searches.request('probe', { policy: spec.policy }), { reason: 'denied' });
	await assert.rejects(searches.request('prune', { log: '/nowhere/a.jsonl', node: 1, restore: false }), {
		reason: 'denied',
	});
	assert.equal(searches.pid, null);
	assert.match(searches.forbidden() ?? '', /not trusted/);
	searches.dispose();
});

test('without trust, the PyTorch environment is not searched for, even for a run', async () => {
	const { LazyPytorch } = await import('../../../src/extension/pytorch/lazyPytorch.ts');
	const pytorch = new LazyPytorch(() => assert.fail('PyTorch is searched for although the workspace is not trusted'));
	await assert.rejects(async () => pytorch.get(), { reason: 'denied' });
	await assert.rejects(
		pytorch.forRun('pytorch', () => undefined),
		{ reason: 'denied' },
	);
	await assert.rejects(pytorch.ifThere(), { reason: 'denied' });
	assert.deepEqual(await pytorch.forRun('embedded', () => undefined), {});
	pytorch.dispose();
});

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
	readonly contributes: {
		readonly commands: readonly { readonly command: CommandId; readonly enablement?: string }[];
		readonly configuration: { readonly properties: Readonly<Record<string, { readonly type: string }>> };
	};
	readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
};

/**
 * Commands available in untrusted workspaces. They only read, using our own programs; write what the user requests to
 * the location the user chooses; or control an engine that the user has already started. Every new command belongs
 * either here or in `trustedCommands`.
 */
const untrusted: readonly (keyof typeof commandIds)[] = [
	...(['pauseRun', 'continueRun', 'stopRun', 'stopPipeline', 'saveCheckpoint', 'setHyperparameters'] as const),
	...([
		'openPipeline',
		'openPipelineGraph',
		'openPipelineFolder',
		'openPipelineLog',
		'openPipelineRecipe',
		'trashPipeline',
	] as const),
	...([
		'openDashboard',
		'openRollouts',
		'exportRollouts',
		'queryRollouts',
		'compareRuns',
		'openRunTable',
		'openReport',
	] as const),
	...(['rebuildIndex', 'pauseIndexing', 'openTranscript', 'openDataset', 'openAddress', 'backFromAgent'] as const),
	...(['openRunFolder', 'openLog', 'renameRun', 'editTags', 'editNote', 'moveToTrash', 'showDiskUse'] as const),
	...([
		'pruneCheckpoints',
		'pruneTokenLogs',
		'addRunFolder',
		'openAsRun',
		'showOtherRuns',
		'forgetRun',
		'refreshRuns',
	] as const),
	...([
		'newProject',
		'newReward',
		'newEnvironment',
		'stepEnvironment',
		'useReward',
		'showBuiltInReward',
		'showVerification',
	] as const),
	...(['refreshRewards', 'showRewardLog', 'setApiKey', 'removeApiKey'] as const),
	...(['openSearchTree', 'compareSearches', 'stopSearch', 'openSearchLog', 'renameSearch', 'deleteSearch'] as const),
	...(['refreshSearches', 'exportResearchReport', 'openPlayground'] as const),
	// Opens existing comparisons; windowSearches.ts rejects new ones.
	'compareStrategies',
	...(['openWalkthrough', 'addPolicy', 'setPolicyKey', 'setPolicyPrice', 'removePolicy', 'refreshPolicies'] as const),
];

test('each command either requires trust or does not, and its enablement agrees', () => {
	const reading = new Set<CommandId>(untrusted.map((name) => commandIds[name]));
	for (const { command, enablement = '' } of manifest.contributes.commands) {
		assert.notEqual(
			reading.has(command),
			trustedCommands.has(command),
			`${command} must be in exactly one of the two lists`,
		);
		assert.equal(/\bisWorkspaceTrusted\b/.test(enablement), trustedCommands.has(command), `enablement of ${command}`);
	}
	assert.equal(reading.size + trustedCommands.size, manifest.contributes.commands.length);
});

test('without trust, commands that need it are rejected before they access anything, and others run', async () => {
	const { CommandTable } = await import('../../../src/extension/commandTable.ts');
	const failures: unknown[] = [];
	const table = new CommandTable({ failure: (error: unknown) => failures.push(error) } as never);
	const ran: string[] = [];
	for (const id of Object.values(commandIds)) table.add(id, () => ran.push(id));
	for (const id of Object.values(commandIds)) await commands.executeCommand(id);
	assert.deepEqual(
		ran,
		Object.values(commandIds).filter((id) => !trustedCommands.has(id)),
	);
	assert.equal(failures.length, trustedCommands.size);
	for (const failure of failures) assert.equal((failure as { reason?: string }).reason, 'denied');
	table.dispose();
});

test('settings that name a program, a server or a location are ignored in untrusted workspaces', () => {
	/** String and object settings that name none of these. */
	const harmless = ['device.whenBusy', 'notifications.runEnd', 'feedback.rater', 'searches.folder', 'searches.budget'];
	const { properties } = manifest.contributes.configuration;
	const naming = Object.keys(properties).filter(
		(name) =>
			/^(string|array|object)$/.test(properties[name]?.type ?? '') &&
			!harmless.includes(name.replace('reasoningLab.', '')),
	);
	assert.deepEqual([...manifest.capabilities.untrustedWorkspaces.restrictedConfigurations].sort(), naming.sort());
});

/**
 * Modules of the extension host that start processes. Each checks for trust itself or is called only by one that does.
 */
const known = [
	'agents/mcpClient.ts', // Our own program, which agents/mcpServers.ts does not offer in untrusted workspaces.
	'cliProcess.ts', // by rewards/sandboxCommands.ts and pytorch/doctorCommand.ts
	'panels/playground/playgroundPanel.ts', // checks for trust before it opens hosts and policies
	'pytorch/interpreterChooser.ts', // these four by pytorch/lazyPytorch.ts, which checks for trust before it loads them
	'pytorch/setUpCommand.ts',
	'pytorch/setupQuestions.ts',
	'pytorch/windowTorchPython.ts',
	'rewardTests/debugSession.ts', // by RewardDebugger, which opens the verifier first, and by the episode view, which loads the environment first
	'rewards/verifierPool.ts',
	'runStarter.ts',
	'workerClient.ts', // by the rollout index, which only reads, and search/windowSearches.ts, which checks for trust
];

test('no other module in the extension host starts engines, reward hosts or other processes', () => {
	const host = join(import.meta.dirname, '../../../src/extension');
	const starters = readdirSync(host, { recursive: true, encoding: 'utf8' })
		.filter((name) => name.endsWith('.ts'))
		.filter((name) => {
			const text = readFileSync(join(host, name), 'utf8');
			// Type imports cannot start anything.
			const imports = [...text.matchAll(/import(?! type)[^;]*?\(?'([^']+)'/g)].map(([, from]) => from ?? '');
			return imports.some((from) =>
				/\/(startRun|launchEngine|rewardHosts|torchPython|findPythons|probePython|doctor|setUpEnvironment)\.ts$|child_process$/.test(
					from,
				),
			);
		});
	assert.deepEqual(starters.sort(), known);
});
