import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { AnswerChecker } from '../../../../src/extension/panels/playground/answerChecker.ts';
import { HeldPolicies } from '../../../../src/extension/panels/playground/heldPolicies.ts';
import { PlaygroundSession } from '../../../../src/extension/panels/playground/playgroundSession.ts';
import { openPolicy } from '../../../../src/policies/openPolicy.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import {
	type ChosenPolicy,
	type Exchange,
	type PlaygroundCommand,
	playgroundCommandSchema,
	playgroundEventSchema,
	playgroundRequests,
} from '../../../../src/protocol/playgroundMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { openRewardHosts } from '../../../../src/rewards/openRewardHosts.ts';
import { openWebview, type Webview, type WebviewOptions } from '../webviewPage.ts';

const wrong = { text: '<think>\n17 + 25\nis 43\n</think>\n<answer>43</answer>', weight: 1 };
const right = { text: '<think>\n17 + 25\nis 42, so wait: 20 + 22 is 42\n</think>\n<answer>42</answer>', weight: 3 };

/** Script for a policy that mostly adds correctly, but also writes hostile text, fails, or is slow. */
export const adder = {
	name: 'adder',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rules: [
		{ prompt: 'What is 17 + 25?', say: [right, wrong] },
		{ prompt: 'hostile', say: '<think><img src=x onerror=alert(1)>\u202e</think><answer><script>1</script></answer>' },
		{ prompt: 'fail', fail: { reason: 'unavailable', message: 'the server is down' } },
		{ prompt: 'slow', say: 'at last', delayMs: 60_000 },
		{ prompt: 'long', say: `<think>${'and on '.repeat(3000)}</think><answer>1</answer>` },
		{ say: [{ text: 'I do not know.' }, { text: 'Who knows?' }] },
	],
};

export const careless: object = { ...adder, name: 'careless', rules: [{ prompt: '*', say: [wrong] }] };

/** Writes a script to a file and returns it as a selected policy. */
export async function scripted(script: object, name: string): Promise<ChosenPolicy> {
	const file = join(await mkdtemp(join(tmpdir(), 'playground-')), `${name}.json`);
	writeFileSync(file, JSON.stringify(script));
	return {
		...{ spec: { kind: 'scripted', file }, name, kind: `script ${name}.json` },
		...{ template: null, system: null, environment: null, temperature: null, maxTokens: 96 },
	};
}

export interface PlaygroundView extends Webview {
	/** Commands from the page to its panel, without `ready`. */
	readonly commands: PlaygroundCommand[];
	readonly faults: readonly string[];
	readonly saved: object[];
	readonly copied: object[];
	readonly session: PlaygroundSession;
	readonly held: HeldPolicies;
}

export interface PlaygroundOptions extends Omit<WebviewOptions, 'app' | 'onMessage'> {
	readonly policies?: readonly [ChosenPolicy | null, ChosenPolicy | null];
	readonly exchanges?: readonly Exchange[];
	readonly forbidden?: string;
}

/** Opens the page with the panel's own session and scripted policies. */
export async function openPlayground(browser: Browser, options: PlaygroundOptions = {}): Promise<PlaygroundView> {
	const { policies = [null, null], exchanges = [], forbidden = null, ...page } = options;
	const commands: PlaygroundCommand[] = [];
	const faults: string[] = [];
	const saved: object[] = [];
	const copied: object[] = [];
	let view: Webview | null = null;
	const post = (message: unknown) => void view?.post(message).catch(() => undefined);
	const held = new HeldPolicies({
		open: (spec, signal) =>
			openPolicy(spec, { engine: '', client: 'test', folder: tmpdir(), rawPrompts: true, signal }),
	});
	const checker = new AnswerChecker({ hosts: () => openRewardHosts({ python: false }) });
	const session = new PlaygroundSession(
		{
			held,
			post: (event) => post({ kind: 'event', event: decodeOrThrow(playgroundEventSchema, event, 'An event') }),
			forbidden: () => forbidden,
			check: (what, signal) => checker.check(what, signal),
			updateMs: 20,
		},
		{ policies, exchanges, current: null },
	);
	const answer = async (method: string, given: unknown): Promise<unknown> => {
		if (method === 'check') {
			const { exchange, expected } = decodeOrThrow(playgroundRequests.check.params, given, method);
			await session.check(exchange, expected);
			return {};
		}
		if (method === 'copy') copied.push(decodeOrThrow(playgroundRequests.copy.params, given, method));
		if (method === 'saveCase') {
			saved.push(decodeOrThrow(playgroundRequests.saveCase.params, given, method));
			return { saved: true, file: '/tmp/some.cases.jsonl' };
		}
		return {};
	};
	const take = (command: PlaygroundCommand) => {
		if (command.type === 'ready') session.begin();
		else if (command.type === 'ask') session.ask(command);
		else if (command.type === 'branch') session.branch(command);
		else if (command.type === 'stop') session.stop();
		else if (command.type === 'show') session.show(command.exchange);
		else if (command.type === 'undo' || command.type === 'redo' || command.type === 'clear') session[command.type]();
		else if (command.type === 'removeSide') session.setPolicies([session.policies[0], null]);
		else if (command.type === 'swap') session.setPolicies([session.policies[1], session.policies[0]]);
	};
	let early = false;
	view = await openWebview(browser, {
		...page,
		app: 'playground',
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind === 'request') {
				const { id, method, params } = decoded;
				answer(method, params).then(
					(result) => post({ kind: 'response', id, ok: true, result }),
					(error: unknown) => post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
				);
				return;
			}
			const command = decodeOrThrow(playgroundCommandSchema, decoded.event, 'A command from the webview');
			if (command.type === 'fault') faults.push(command.message);
			else if (command.type === 'ready' && view === null) early = true;
			else {
				if (command.type !== 'ready') commands.push(command);
				take(command);
			}
		},
	});
	if (early) session.begin();
	const opener = view;
	return {
		...opener,
		...{ commands, faults, saved, copied, session, held },
		close: async () => {
			session.dispose();
			held.dispose();
			checker.dispose();
			await opener.close();
		},
	};
}
