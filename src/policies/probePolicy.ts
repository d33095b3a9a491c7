import { dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { Random } from '../base/random.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import type { GenerateRequest, Generation, Policy, PolicyCapabilities } from '../core/search/policy.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import { listRolloutSteps, readResolvedRecipe, readRollouts } from '../runs/runReader.ts';
import type { OpenPolicy, PolicyContext } from './openedPolicy.ts';
import { openPolicy } from './openPolicy.ts';

/** Detected policy capabilities. */
export interface PolicyProbe {
	readonly capabilities: PolicyCapabilities;
	readonly model: string;
	/** Short sample completion. */
	readonly sample: string;
	readonly millis: number;
	/** Notes on features that were tried and failed. */
	readonly notes: readonly string[];
}

const question = 'What is 17 + 25? Answer briefly.';

/**
 * Tests a policy's capabilities with small requests. Fails with the same errors as `openPolicy`, or with the error of
 * the first request if that fails.
 */
export async function probePolicy(spec: PolicySpec, context: PolicyContext): Promise<PolicyProbe> {
	const began = performance.now();
	const signal = context.signal ?? new AbortController().signal;
	if (spec.kind === 'openai') {
		const { openOpenAiPolicy } = await import('./openai/openOpenAiPolicy.ts');
		const policy = await openOpenAiPolicy(spec, context, true);
		try {
			const { capabilities, model, notes, sample } = policy;
			return { capabilities, model, sample, millis: performance.now() - began, notes };
		} finally {
			policy.dispose();
		}
	}
	const policy = await openPolicy(spec, context);
	try {
		const problem = await problemFor(spec, context);
		const { sample, capabilities, notes } = await tryOut(policy, problem ?? question, signal);
		const unknown =
			problem === null && spec.kind !== 'scripted'
				? ["No problem from this policy's dataset was found, so a generic one was used."]
				: [];
		const all = [...policy.notes, ...unknown, ...notes];
		return { capabilities, model: policy.model, sample, millis: performance.now() - began, notes: all };
	} finally {
		policy.dispose();
	}
}

/** Returns a problem that the policy was trained on, or null if none is known. */
async function problemFor(spec: PolicySpec, { folder }: PolicyContext): Promise<string | null> {
	if (spec.kind !== 'checkpoint' && spec.kind !== 'engine') return null;
	const run = spec.kind === 'engine' ? resolve(folder, spec.run) : dirname(dirname(resolve(folder, spec.folder)));
	try {
		const { dataset, template } = decodeResolvedRecipe(await readResolvedRecipe(run));
		if ('task' in dataset) return createTask(dataset).sample(Random.of('probe')).prompt;
		const [step] = await listRolloutSteps(run);
		const [line] = step === undefined ? [] : await readRollouts(run, step);
		const [before = '', after = ''] = template.prompt.split('{prompt}');
		const { prompt } = line ?? {};
		if (typeof prompt !== 'string' || !prompt.startsWith(before) || !prompt.endsWith(after)) return null;
		return prompt.slice(before.length, prompt.length - after.length);
	} catch {
		// The run comes from another version or trainer, so test with a plain question.
		return null;
	}
}

interface TriedOut {
	readonly sample: string;
	readonly capabilities: PolicyCapabilities;
	readonly notes: readonly string[];
}

/** Exercises each claimed capability once and drops those that fail. */
async function tryOut(open: OpenPolicy, problem: string, signal: AbortSignal): Promise<TriedOut> {
	const policy = open.bind({ signal });
	const greedy = await ask(policy, problem, { temperature: 0, maxTokens: 48, tokens: 1 });
	if (greedy instanceof Failure) throw greedy;
	const claimed = open.capabilities;
	const found: { -readonly [K in keyof PolicyCapabilities]: PolicyCapabilities[K] } = { ...claimed };
	const notes: string[] = [];
	const sample = greedy.text;
	if (sample === '')
		return { sample, capabilities: claimed, notes: ['The policy returned no text for the test problem.'] };

	if (claimed.logprobs && greedy.logprob === null) {
		found.logprobs = false;
		notes.push('The policy does not return log-probabilities.');
	}
	if (claimed.alternatives > 0) {
		const probed = await ask(policy, problem, { temperature: 0, maxTokens: 4, tokens: claimed.alternatives });
		const max = probed instanceof Failure ? 0 : Math.max(0, ...(probed.detail?.top ?? []).map((top) => top.length));
		found.alternatives = max;
		if (max === 0) notes.push('The policy does not return alternative tokens.');
	}
	if (claimed.seed) {
		const [first, second] = [await ask(policy, problem, { seed: 5 }), await ask(policy, problem, { seed: 5 })];
		if (textOf(first) !== textOf(second)) {
			found.seed = false;
			notes.push('The same seed produces different completions.');
		}
	}
	if (claimed.prefix) {
		// Split between two tokens, because a prefix that ends inside a token may be tokenized differently.
		const tokens = greedy.detail?.text ?? [...sample];
		const prefix = tokens.slice(0, Math.ceil(tokens.length / 2)).join('');
		const rest = await ask(policy, problem, { temperature: 0, maxTokens: 48, prefix });
		const goesOn = !(rest instanceof Failure) && `${prefix}${rest.text}`.startsWith(sample);
		if (!goesOn && greedy.finish === 'end') {
			found.prefix = false;
			notes.push('The policy does not reproduce its own completion when continuing from a prefix of it.');
		}
	}
	const text = { messages: [{ role: 'user', content: problem }], completion: sample };
	if (claimed.score) {
		const scored = await policy.score?.([text]).catch(() => undefined);
		if (scored?.[0]?.length === undefined || scored[0].length === 0) {
			found.score = false;
			notes.push('The policy cannot score existing text.');
		}
	}
	for (const head of claimed.heads) {
		const values = await policy.value?.([text], head).catch(() => undefined);
		if (typeof values?.[0] === 'number') continue;
		found.heads = found.heads.filter((one) => one !== head);
		notes.push(`The head "${head}" returns no values.`);
	}
	return { sample, capabilities: found, notes };
}

async function ask(policy: Policy, problem: string, more: Partial<GenerateRequest>): Promise<Generation | Failure> {
	const [made] = await policy.generate([
		{
			messages: [{ role: 'user', content: problem }],
			prefix: '',
			n: 1,
			temperature: 1,
			topP: 1,
			maxTokens: 16,
			stop: [],
			seed: 1,
			tokens: 0,
			...more,
		},
	]);
	if (made instanceof Failure) return made;
	return made?.[0] ?? new Failure('internal', `${policy.name} returned no text.`);
}

const textOf = (made: Generation | Failure): string => (made instanceof Failure ? made.message : made.text);
