import { readNamed } from '../files/safeFile.ts';
import type { RewardRunner } from './rewardRunner.ts';

const models: ReadonlySet<string> = new Set(['judge', 'process', 'reward-model']);

/** What code has that asks a model: a client of one, a connection, another program, or a name that says so. */
const asking =
	/judge|grader|\bllms?\b|openai|anthropic|litellm|gemini|mistral|ollama|vllm|transformers|torch|onnx|langchain|\bfetch\b|requests|https?\b|httpx|aiohttp|urllib|socket|node:net|undici|axios|child_process|subprocess|os\.system|\bimport\(|importlib|__import__/i;

const largest = 4 << 20;

/**
 * Whether a reward may ask a model for its value. Only code without any sign of it gives false: what cannot be read, or is
 * not known, may. To be asked after the rewards were loaded, which is when their files are known.
 */
export async function asksModel({ source, files }: Pick<RewardRunner, 'source' | 'files'>): Promise<boolean> {
	if ('builtIns' in source) return source.builtIns.some(({ use }) => models.has(use));
	for (const file of new Set([source.file, ...files])) {
		const text = await readNamed(file, { largest }).catch(() => null);
		if (text === null || asking.test(text.toString())) return true;
	}
	return false;
}
