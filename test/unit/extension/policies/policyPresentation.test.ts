import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyView } from '../../../../src/extension/policies/policyPresentation.ts';

const { presentPolicy } = await import('../../../../src/extension/policies/policyPresentation.ts');
const { serversOf } = await import('../../../../src/extension/policies/policySettings.ts');
const { priceOf } = await import('../../../../src/extension/policies/policyCommands.ts');
const { faultOfKey, faultOfName, faultOfUrl, freeName } = await import(
	'../../../../src/extension/policies/addPolicyFlow.ts'
);

const now = 1_700_000_000_000;
const server: PolicyView = {
	spec: { kind: 'openai', name: 'big', baseUrl: 'http://127.0.0.1:8000/v1', model: 'org/big-7b', api: 'chat' },
	run: null,
	hasKey: false,
	trial: null,
};

test('a policy is presented with its kind, capabilities and limitations', () => {
	const untried = presentPolicy(server, now);
	assert.deepEqual([untried.label, untried.description, untried.icon.color], ['big', 'org/big-7b', null]);
	assert.equal(untried.contextValue, 'policy serverPolicy keylessPolicy');
	assert.ok(untried.tooltip.some(([name, value]) => name === 'Capabilities' && value === 'not tested'));

	const capabilities = {
		logprobs: true,
		alternatives: 20,
		distribution: false,
		prefix: false,
		seed: true,
		instructions: true,
		score: false,
		heads: [],
	};
	const trial = {
		capabilities,
		model: 'org/big-7b',
		sample: 'one\u202etwo $(bug)',
		notes: ['It lacks\na thing.'],
		at: now - 7_200_000,
	};
	const tried = presentPolicy({ ...server, hasKey: true, trial }, now);
	assert.equal(tried.description, 'org/big-7b · log-probs with 20 alternatives, seeds, instructions');
	assert.equal(tried.icon.color, 'charts.yellow');
	assert.match(tried.contextValue, /keyedPolicy/);
	const rows = Object.fromEntries(tried.tooltip);
	assert.equal(rows['Last tested'], '2 h ago');
	// Server text is shown without bidirectional overrides or icons.
	assert.doesNotMatch(Object.values(rows).join(), /\u202e|\$\(bug\)|\n/);

	const checkpoint = presentPolicy(
		{
			spec: { kind: 'checkpoint', folder: '/runs/adder/checkpoints/step_000120' },
			run: null,
			hasKey: false,
			trial: null,
		},
		now,
	);
	assert.deepEqual([checkpoint.label, checkpoint.contextValue], ['adder, step 120', 'policy recentPolicy']);
	const engine = presentPolicy(
		{ spec: { kind: 'engine', run: '/runs/adder' }, run: 'Adder', hasKey: false, trial: null },
		now,
	);
	assert.deepEqual([engine.label, engine.description, engine.contextValue], ['Adder', 'training now', 'policy']);
});

test('invalid settings entries are skipped and reported', () => {
	const fine = { name: 'a', baseUrl: 'http://x/v1', model: 'm', price: { input: 1, output: 2 } };
	const { servers, faults } = serversOf([
		fine,
		{ ...fine, model: 5 },
		null,
		'x',
		{ ...fine },
		{ ...fine, name: 'b', kind: 'scripted' },
	]);
	assert.deepEqual(
		servers.map(({ name, api }) => [name, api]),
		[
			['a', 'chat'],
			['b', 'chat'],
		],
	);
	assert.equal(servers[0]?.price?.currency, 'USD');
	assert.equal(faults.length, 4);
	assert.match(faults[0] ?? '', /Entry 2 .* model/);
	assert.match(faults[3] ?? '', /Entry 5 .* same name as another/);
	assert.deepEqual(serversOf('nonsense'), { servers: [], faults: [] });
});

test('user input is validated before it is saved', () => {
	assert.deepEqual(priceOf('0.5 1.5 eur'), { input: 0.5, output: 1.5, currency: 'EUR' });
	assert.deepEqual(priceOf('1, 2'), { input: 1, output: 2, currency: 'USD' });
	assert.equal(priceOf(' '), undefined);
	for (const text of ['-1 2', '1', '1 2 dollars', 'free']) assert.equal(priceOf(text), null, text);
	for (const url of ['http://127.0.0.1:8000/v1', 'https://api.example.com/v1'])
		assert.equal(faultOfUrl(url), null, url);
	for (const url of ['', '127.0.0.1', 'ftp://x', 'http://a:b@x/v1', 'http://x/v1?k=1'])
		assert.notEqual(faultOfUrl(url), null, url);
	for (const key of ['', 'sk-1_2.3']) assert.equal(faultOfKey(key), null, key);
	for (const key of ['a b', 'ä', 'a\nb']) assert.notEqual(faultOfKey(key), null, key);
	assert.notEqual(faultOfName('a', ['a']), null);
	assert.equal(freeName('a', ['a', 'a 2']), 'a 3');
});
