import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ApiKeys } from '../../../../src/extension/rewards/apiKeys.ts';
import { configured, installed } from '../vscodeStandIn.ts';

const { PythonInterpreter } = await import('../../../../src/extension/rewards/pythonInterpreter.ts');
const { RewardEnvironment } = await import('../../../../src/extension/rewards/rewardEnvironment.ts');

const setting = 'reasoningLab.rewards.python';

beforeEach(() => {
	configured.clear();
	installed.clear();
});

/** Installs a stand-in for the Python extension with an environment selected. */
function select(environments: object | undefined): void {
	installed.set('ms-python.python', { environments });
}

const selected = {
	getActiveEnvironmentPath: () => ({ id: '1', path: '/env' }),
	resolveEnvironment: async () => ({ executable: { uri: { fsPath: '/env/bin/python' } } }),
	onDidChangeActiveEnvironmentPath: () => ({ dispose() {} }),
};

async function found(): Promise<string | null> {
	const python = new PythonInterpreter();
	const path = await python.path();
	python.dispose();
	return path;
}

test('the interpreter comes from the Python extension, or else from the setting, or is null', async () => {
	assert.equal(await found(), null);
	configured.set(setting, ' /usr/bin/python3.12 ');
	assert.equal(await found(), '/usr/bin/python3.12');
	select(selected);
	assert.equal(await found(), '/env/bin/python');
});

test('an outdated or broken Python extension is ignored', async () => {
	configured.set(setting, 'python3');
	const broken = [
		undefined,
		{},
		{ ...selected, getActiveEnvironmentPath: () => undefined },
		{ ...selected, resolveEnvironment: async () => undefined },
		{ ...selected, resolveEnvironment: () => Promise.reject(new Error('broken')) },
		{
			...selected,
			getActiveEnvironmentPath: () => {
				throw new Error('broken');
			},
		},
	];
	for (const environments of broken) {
		select(environments);
		assert.equal(await found(), 'python3', JSON.stringify(environments));
	}
});

test('a new selection is reported and takes effect on the next use', async () => {
	const listeners: (() => void)[] = [];
	let path = '/one';
	select({
		...selected,
		resolveEnvironment: async () => ({ executable: { uri: { fsPath: path } } }),
		onDidChangeActiveEnvironmentPath: (listener: () => void) => {
			listeners.push(listener);
			return { dispose() {} };
		},
	});
	const python = new PythonInterpreter();
	let reported = 0;
	python.onDidChange(() => reported++);
	assert.equal(await python.path(), '/one');
	path = '/two';
	assert.equal(await python.path(), '/one', 'the extension is not asked on each use');
	for (const listener of listeners) listener();
	assert.equal(reported, 1);
	assert.equal(await python.path(), '/two');
	python.dispose();
});

test('scoring processes get the Python, sandbox and keys, and nothing that is not configured', async () => {
	const secrets = new Map<string, string>();
	const memory = new Map<string, unknown>();
	const keys = new ApiKeys(
		{
			get: async (name: string) => secrets.get(name),
			store: async (name: string, value: string) => void secrets.set(name, value),
			delete: async (name: string) => void secrets.delete(name),
		} as never,
		{
			get: (name: string) => memory.get(name),
			update: async (name: string, value: unknown) => void memory.set(name, value),
		} as never,
	);
	const python = new PythonInterpreter();
	const environment = new RewardEnvironment(python, keys);
	assert.deepEqual(await environment.of(), {});
	configured.set('reasoningLab.sandbox.mode', 'bubblewrap');
	await keys.set('https://api.example.com', 'secret');
	await keys.set('https://other.example.com', 'other');
	await keys.remove('https://other.example.com');
	assert.deepEqual(keys.origins, ['https://api.example.com']);
	assert.deepEqual(await environment.of(), {
		REASONING_LAB_SANDBOX: 'bubblewrap',
		REASONING_LAB_API_KEYS: '{"https://api.example.com":"secret"}',
	});
	assert.ok(![...memory.values()].some((value) => JSON.stringify(value).includes('secret')));
	python.dispose();
});
