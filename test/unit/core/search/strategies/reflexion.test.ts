import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { evidenceOf } from '../../../../../src/core/reflexion/evidence.ts';
import { beginSearch } from '../../../../../src/core/search/searchRun.ts';
import { reflexion } from '../../../../../src/core/search/strategies/reflexion.ts';
import { playedPolicy, playedTool, reply, research } from '../../reflexion/playedAgent.ts';

const grpo = 'GRPO removes the value model of PPO and takes the mean reward of a group of 64 samples as the baseline.';
const kl = 'The KL penalty stands in the loss with a coefficient of 0.04, not in the reward.';
const wiki = () => playedTool('wiki', { grpo, kl });
const cited = 'GRPO removes the value model and takes the mean reward of a group as the baseline [1].';

describe('Reflexion research', () => {
	it('drafts, queries tools in parallel, and revises with supported references until nothing is missing', async () => {
		const tool = wiki();
		const { outcome, tree, of, asked } = await research(
			[
				reply({
					answer: 'Draft.',
					missing: ['the baseline of GRPO', 'the KL penalty'],
					queries: [{ tool: 'wiki', query: 'grpo' }, 'kl'],
				}),
				reply({ answer: cited, missing: ['where the KL penalty is applied'], references: ['S1'] }),
				reply({ answer: `${cited} The KL penalty stands in the loss [2].`, references: ['S1', 'wiki/kl.md'] }),
			],
			[tool],
		);
		assert.equal(outcome.stop, 'solved');
		assert.deepEqual(tool.asked, ['grpo', 'kl']);
		assert.deepEqual(
			tree.nodes.map(({ role, parents, label }) => [role, parents, label]),
			[
				['problem', [], null],
				['draft', [0], null],
				['tool', [1], 'wiki: grpo'],
				['tool', [1], 'wiki: kl'],
				['revision', [1, 2, 3], null],
				['revision', [4], null],
			],
		);
		assert.deepEqual(outcome.best, [0, 1, 4, 5]);
		assert.match(outcome.answer ?? '', /stands in the loss \[2\]\.$/);
		// Both points about the draft were addressed, but the second one is raised again in different words.
		const critiques = of('critique').map(({ id, missing, addressed }) => [id, missing.length, addressed]);
		assert.deepEqual(critiques, [
			[1, 2, []],
			[1, 2, [0]],
			[4, 1, []],
			[4, 1, [0]],
			[5, 0, []],
		]);
		const references = of('reference').map(({ id, label, source, evidence, supported }) => [
			id,
			label,
			source,
			evidence,
			supported,
		]);
		assert.deepEqual(references, [
			[4, '[1]', 'wiki/grpo.md:1', 2, true],
			[5, '[1]', 'wiki/grpo.md:1', 2, true],
			[5, '[2]', 'wiki/kl.md:1', 3, true],
		]);
		// The policy receives the references, the results, and its own critique.
		const [, second] = asked;
		const result = second?.messages.map(({ content }) => content).join('\n') ?? '';
		assert.match(result, /\[S1\] wiki\/grpo\.md:1\nGRPO removes the value model/);
		assert.match(result, /1\. missing: the baseline of GRPO/);
		assert.equal(second?.schema?.type, 'object');
	});

	it('retries an invalid reply, giving the reason, within a separate budget', async () => {
		const bad = [
			'I think the answer is four.',
			'```json\n{"answer": "x", "reflection": {"missing": 5, "superfluous": []}, "search_queries": []}\n```',
			'{"answer": "", "search_queries": "none"}',
			'{"answer": "cut off in the mid',
		];
		const { outcome, asked, faults } = await research([...bad, reply({ answer: 'At last.' })]);
		assert.deepEqual([outcome.stop, outcome.answer, asked.length], ['solved', 'At last.', 5]);
		assert.match(faults[0] ?? '', /^Malformed draft, retrying: The reply has no JSON object with "answer"/);
		assert.match(faults[1] ?? '', /- reflection\.missing: must be a list of strings/);
		assert.match(faults[2] ?? '', /- answer: must not be empty\n.*- reflection: .*\n- search_queries: must be a list/s);
		assert.match(faults[3] ?? '', /ends inside the object/);
		const result = asked[2]?.messages ?? [];
		assert.deepEqual(
			result.map(({ role }) => role),
			['user', 'assistant', 'user'],
		);
		assert.match(result[2]?.content ?? '', /^Your reply is invalid:\n- reflection\.missing/);

		const never = await research(['no'], [], { params: { retries: 2 } });
		assert.deepEqual([never.outcome.stop, never.outcome.best, never.outcome.answer], ['exhausted', null, null]);
		assert.equal(never.asked.length, 3);
		assert.match(never.faults.at(-1) ?? '', /no retries left/);

		const later = await research([reply({ answer: 'Draft.', missing: ['x y z'] }), 'no'], [], {
			params: { retries: 1 },
		});
		assert.deepEqual([later.outcome.stop, later.outcome.answer, later.asked.length], ['exhausted', 'Draft.', 3]);
	});

	it('extracts an object from the surrounding text', async () => {
		const wrapped = JSON.stringify({ name: 'AnswerQuestion', arguments: reply({ answer: 'In a call.' }) });
		for (const [text, answer] of [
			[`<think>{"answer": 1}</think>Here it is: ${reply({ answer: 'Plain.' })} I hope {so}.`, 'Plain.'],
			[`{"plan": {"steps": []}}\n${reply({ answer: 'Second.' })}`, 'Second.'],
			[wrapped, 'In a call.'],
			[
				'{"answer": "two\nlines, 50\\% {x}", "reflection": {"missing": "- none", "superfluous": "N/A",}, "search_queries": [],}',
				'two\nlines, 50\\% {x}',
			],
		] as const) {
			const { outcome } = await research([text]);
			assert.deepEqual([outcome.stop, outcome.answer], ['solved', answer]);
		}
	});

	it('reports failures to the policy, retries temporary errors, and never repeats a failed query', async () => {
		const tool = playedTool('wiki', {
			grpo: [new Failure('timeout', 'wiki did not answer in 5 s.'), grpo],
			down: new Failure('unavailable', 'wiki is down.'),
		});
		const asking = (n: number, ...queries: string[]) =>
			reply({ answer: `Answer ${n}.`, missing: [`point ${n}`], queries });
		const { outcome, of, asked, faults, tree } = await research(
			[
				asking(1, 'grpo', 'nothing', 'down'),
				asking(2, 'nothing', 'grpo', 'down'),
				asking(3),
				reply({ answer: 'Done.' }),
			],
			[tool],
			{ params: { toolRetries: 2 }, concurrency: 1 },
		);
		assert.equal(outcome.stop, 'solved');
		assert.deepEqual(tool.asked, ['grpo', 'grpo', 'nothing', 'down', 'down']);
		assert.deepEqual(faults, [
			'wiki failed, retrying: wiki did not answer in 5 s.',
			'wiki failed, retrying: wiki is down.',
		]);
		const errors = of('tool').map(({ id, error }) => [id, error ?? null]);
		assert.deepEqual(errors, [
			[2, null],
			[3, 'Nothing is known of "nothing".'],
			[4, 'wiki is down.'],
			[6, 'Skipped: this query already failed (Nothing is known of "nothing".).'],
			[7, 'Skipped: this query already failed (wiki is down.).'],
		]);
		// Earlier results are not requested again, but the revision is still based on them.
		assert.deepEqual(tree.node(8)?.parents, [5, 6, 2, 7]);
		assert.match(
			asked[1]?.messages.at(-1)?.content ?? '',
			/These queries returned nothing:\n- wiki "nothing": Nothing is known/,
		);
		assert.match(asked[2]?.messages.at(-1)?.content ?? '', /- "grpo": was already sent, see above/);
		assert.equal(evidenceOf(tree).length, 1);
	});

	it('answers calls to unknown tools with a list of the available ones', async () => {
		const { of } = await research(
			[reply({ missing: ['x'], queries: [{ tool: 'google', query: 'a' }, 'b'] }), reply({ answer: 'B' })],
			[playedTool('calculator', {}, false)],
		);
		assert.deepEqual(
			of('tool').map(({ name, error }) => [name, error]),
			[
				['google', 'Unknown tool "google". Available tools: calculator.'],
				['no tool', 'Unknown tool "no tool". Available tools: calculator.'],
			],
		);
	});

	it('flags unsupported references, reports them to the policy, and does not accept them as good enough', async () => {
		const invented =
			'GRPO was invented in 1999 by the romans for chess [1]. It has a value model made of cheese and water [2].';
		const { of, asked, outcome } = await research(
			[
				reply({ answer: 'Draft.', missing: ['all'], queries: ['grpo'] }),
				reply({ answer: invented, references: ['S1', 'https://made.up/page'] }),
				reply({ answer: cited, references: ['[S1]'] }),
			],
			[wiki()],
		);
		const references = of('reference').map(({ id, supported, evidence, note }) => [
			id,
			supported,
			evidence,
			note ?? '',
		]);
		assert.equal(references.length, 3);
		assert.deepEqual(references[0]?.slice(0, 3), [3, false, 2]);
		assert.match(references[0]?.[3] as string, /^does not contain 1999: "GRPO was invented/);
		assert.deepEqual(references[1], [3, false, null, 'no tool returned it']);
		assert.deepEqual(references[2], [4, true, 2, '']);
		assert.match(
			asked[2]?.messages.at(-1)?.content ?? '',
			/Unsupported citations in your answer:\n- \[1\] \(wiki\/grpo\.md:1\): does not contain 1999/,
		);
		assert.equal(outcome.stop, 'solved');
	});

	it('converts citation marks in the text to reference numbers', async () => {
		const { tree, of } = await research(
			[
				reply({ missing: ['x'], queries: ['grpo', 'kl'] }),
				reply({
					answer: 'The loss has the KL penalty [S2]. GRPO removes the value model [S1, S2]. [S9]',
					references: [2],
				}),
			],
			[wiki()],
		);
		assert.equal(tree.nodes.at(-1)?.text, 'The loss has the KL penalty [1]. GRPO removes the value model [2, 1]. [S9]');
		assert.deepEqual(
			of('reference').map(({ source }) => source),
			['wiki/kl.md:1', 'wiki/grpo.md:1'],
		);
	});

	it('ends when nothing improves, when the answer does not change, and after the maximum number of rounds', async () => {
		const stuck = (n: number) => reply({ answer: `Version ${n}.`, missing: ['the proof of the theorem is missing'] });
		const many = Array.from({ length: 9 }, (_, n) => stuck(n));
		const stale = await research(many, [], { params: { rounds: 8, patience: 3 } });
		assert.deepEqual([stale.outcome.stop, stale.asked.length], ['no-improvement', 4]);
		const same = await research([stuck(1)], [], { params: { rounds: 8 } });
		assert.deepEqual([same.outcome.stop, same.asked.length], ['no-improvement', 2]);
		assert.deepEqual(
			same.of('critique').every(({ addressed }) => addressed.length === 0),
			true,
		);
		const points = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];
		const busy = points.map((point, n) => reply({ answer: `Version ${n}.`, missing: [`say more of ${point}`] }));
		const capped = await research(busy, [], { params: { rounds: 3 } });
		assert.deepEqual([capped.outcome.stop, capped.asked.length, capped.outcome.answer], ['complete', 4, 'Version 3.']);
		assert.equal((await research(busy, [], { params: { rounds: 0 } })).asked.length, 1);
	});

	it('keeps its results when the budget runs out or the policy fails', async () => {
		const draft = reply({ answer: 'Draft.', missing: ['x'], queries: ['grpo', 'kl'] });
		const tokens = await research([draft], [wiki()], { budget: { tokens: 10 } });
		assert.deepEqual([tokens.outcome.stop, tokens.outcome.answer], ['tokens', 'Draft.']);
		const nodes = await research([draft], [wiki()], { budget: { nodes: 2 } });
		assert.deepEqual([nodes.outcome.stop, nodes.outcome.answer], ['nodes', 'Draft.']);
		assert.equal((await research([draft], [], { budget: { nodes: 0 } })).outcome.stop, 'nodes');
		const gone = await research([draft, new Failure('unavailable', 'The server is gone.')], [wiki()]);
		assert.equal(gone.outcome.answer, 'Draft.');
		assert.ok(gone.faults.some((fault) => fault.includes('The server is gone.')));
		assert.equal(gone.outcome.stop, 'exhausted');
	});

	it('is canceled during a tool call and continues from its log', async () => {
		const lines = [
			reply({ answer: 'Draft.', missing: ['the baseline'], queries: ['grpo', 'slow'] }),
			reply({ answer: cited, references: ['S1'] }),
		];
		const tool = playedTool('wiki', { grpo, slow: kl });
		const policy = playedPolicy(lines);
		const events: Parameters<NonNullable<Parameters<typeof beginSearch>[0]['onEvent']>>[0][] = [];
		const common = {
			problem: { prompt: 'Q', answer: null, row: {} },
			policy,
			now: () => 0,
			onEvent: (event: (typeof events)[number]) => events.push(event),
		};
		const first = beginSearch({
			...common,
			strategy: reflexion([
				{
					...tool,
					run: async (query) => {
						if (query !== 'slow') return tool.run(query);
						first.stop();
						throw new Failure('cancelled', 'Canceled.');
					},
				},
			]),
		});
		const stopped = await first.result;
		assert.deepEqual([stopped.outcome.stop, stopped.outcome.answer], ['stopped', 'Draft.']);
		const log = [...events];
		const again = await beginSearch({
			...common,
			strategy: reflexion([tool]),
			resume: { events: log, action: 'more' },
		}).result;
		assert.equal(again.outcome.stop, 'solved');
		// The unanswered query is sent, the answered one is not, and there is only one draft.
		assert.deepEqual(tool.asked, ['grpo', 'slow']);
		assert.deepEqual(
			again.tree.nodes.map(({ role }) => role),
			['problem', 'draft', 'tool', 'tool', 'revision'],
		);
		assert.equal(policy.asked.length, 2);
	});
});
