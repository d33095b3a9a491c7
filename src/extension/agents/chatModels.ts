import { randomInt } from 'node:crypto';
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { formatPercent } from '../../base/format.ts';
import { type StreamedPart, ThinkingStream } from '../../core/trace/thinkingStream.ts';
import { askCompletions } from '../../policies/askCompletions.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { checkpointsStamp, listCheckpoints } from '../../runs/checkpointFiles.ts';
import type { Notices } from '../notices.ts';
import { describePolicy } from '../panels/playground/describePolicy.ts';
import { HeldPolicies } from '../panels/playground/heldPolicies.ts';
import { type OpeningNeeds, openInWindow, policiesForbidden } from '../policies/openInWindow.ts';
import { nameOfPolicy } from '../policies/policyPresentation.ts';
import { policyId } from '../policies/policyStore.ts';
import { Refresher } from '../refresher.ts';
import { runLabels } from '../runPresentation.ts';
import type { RunStore } from '../runStore.ts';
import { displayText, isForeign, isLive, nameOf, type RunView } from '../runView.ts';
import { type ChatTurn, chatMessages, chatSampling } from './chatRequest.ts';
import { FirstTurnNotice } from './firstTurnNotice.ts';

export const chatVendor = 'reasoninglab';

/** Maximum number of runs whose checkpoints are offered; the newest runs take precedence. */
const maxRuns = 20;
/** Context length reported for policies whose context length is unknown until they are opened, in tokens. */
const assumedContext = 4096;
const longestReply = 200_000;

/** A policy as a chat model. */
export interface ChatModel extends vscode.LanguageModelChatInformation {
	readonly spec: PolicySpec;
}

export interface ChatModelNeeds extends OpeningNeeds {
	readonly store: RunStore;
	readonly notices: Pick<Notices, 'information'>;
}

/** `vscode.LanguageModelThinkingPart` if the editor provides it; it is not part of the stable extension API. */
type ThinkingPart = new (value: string) => vscode.LanguageModelResponsePart;

/**
 * Provides the window's policies as chat models: the latest and the best checkpoint of each run, running engines, and
 * configured servers. The text between the think tags of a policy's template is shown as thinking.
 */
export class ChatModels extends Disposable implements vscode.LanguageModelChatProvider<ChatModel> {
	readonly #needs: ChatModelNeeds;
	readonly #held: HeldPolicies;
	readonly #firstTurn: FirstTurnNotice;
	readonly #changed = this.register(new vscode.EventEmitter<void>());
	#listed = '';
	readonly #refresher = this.register(new Refresher(() => this.#look()));
	#followsPolicies = false;
	readonly onDidChangeLanguageModelChatInformation = this.#changed.event;

	constructor(needs: ChatModelNeeds) {
		super();
		this.#needs = needs;
		this.#firstTurn = new FirstTurnNotice(needs.notices);
		this.#held = this.register(
			new HeldPolicies({ open: (spec, signal) => openInWindow(spec, needs, { signal, rawPrompts: false }) }),
		);
		// Some editors do not support language models.
		if (typeof vscode.lm?.registerLanguageModelChatProvider !== 'function') return;
		this.register(vscode.lm.registerLanguageModelChatProvider(chatVendor, this));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#changed.fire()));
		this.register(needs.store.onDidChange(() => void this.#refresher.refresh()));
	}

	/** Runs whose checkpoints are offered. */
	get #runs(): readonly RunView[] {
		return this.#needs.store.own.filter((view) => !isForeign(view)).slice(0, maxRuns);
	}

	/** Fires only if the list has changed, because runs change up to twice a second but their checkpoints rarely do. */
	async #look(): Promise<void> {
		const facts = this.#runs.map(async (view) => {
			const saved = isLive(view) ? await checkpointsStamp(view.folder).catch(() => '') : '';
			return [view.folder, view.status, nameOf(view), view.accuracy, saved];
		});
		const listed = JSON.stringify(await Promise.all(facts));
		if (listed === this.#listed || this.disposed) return;
		this.#listed = listed;
		this.#changed.fire();
	}

	/** Follows the servers in the settings and the running engines, once their list has been loaded. */
	#follow({ store }: Awaited<ReturnType<ChatModelNeeds['policies']>>): void {
		if (this.#followsPolicies) return;
		this.#followsPolicies = true;
		this.register(store.onDidChange(() => this.#changed.fire()));
	}

	async provideLanguageModelChatInformation(): Promise<ChatModel[]> {
		if (policiesForbidden() !== null) return [];
		await this.#needs.store.ready;
		const models = new Map<string, ChatModel>();
		const add = (model: ChatModel) => void (models.has(model.id) || models.set(model.id, model));
		const workbench = await this.#needs.policies();
		this.#follow(workbench);
		for (const { spec, run } of await workbench.store.list()) {
			add(modelOf(spec, nameOfPolicy({ spec, run }), spec.kind === 'openai' ? displayText(spec.model, 60) : ''));
		}
		const labelOf = runLabels(this.#needs.store.runs);
		for (const view of this.#runs) {
			const found = await listCheckpoints(view.folder).catch(() => []);
			const latest = found.at(-1);
			for (const checkpoint of found.filter(({ best, step }) => best || step === latest?.step)) {
				const { path, score, best, step } = checkpoint;
				const spec: PolicySpec = { kind: 'checkpoint', folder: path };
				const accuracy = score === null ? null : `held-out accuracy ${formatPercent(score)}`;
				const detail = [best ? 'best' : null, accuracy].filter((part) => part !== null).join(', ');
				add(modelOf(spec, `${labelOf(view)}, step ${step}`, detail));
			}
		}
		return [...models.values()];
	}

	async provideLanguageModelChatResponse(
		{ spec, name }: ChatModel,
		messages: readonly vscode.LanguageModelChatRequestMessage[],
		{ modelOptions }: vscode.ProvideLanguageModelChatResponseOptions,
		progress: vscode.Progress<vscode.LanguageModelResponsePart>,
		token: vscode.CancellationToken,
	): Promise<void> {
		const abort = new AbortController();
		const listener = token.onCancellationRequested(() => abort.abort());
		if (token.isCancellationRequested) abort.abort();
		try {
			await this.#answer(spec, name, messages.map(turnOf), modelOptions ?? {}, reporter(progress), abort.signal);
		} catch (error) {
			// A canceled reply keeps the text received so far.
			if (!abort.signal.aborted) throw error;
		} finally {
			listener.dispose();
		}
	}

	async #answer(
		spec: PolicySpec,
		name: string,
		turns: readonly ChatTurn[],
		options: Readonly<Record<string, unknown>>,
		report: (part: StreamedPart) => void,
		signal: AbortSignal,
	): Promise<void> {
		const [held, trained] = await Promise.all([this.#held.take(spec, signal), describePolicy(spec, name)]);
		try {
			const { policy } = held;
			const { capabilities, tags, context } = policy;
			this.#firstTurn.report(name, policy.environment);
			const asked = chatMessages(turns, capabilities.instructions);
			if (asked.length === 0) throw new Failure('invalid', 'The message has no text.', 'Ask a question.');
			const { temperature, topP, maxTokens } = chatSampling(options, trained, context ?? assumedContext);
			const stream = new ThinkingStream(tags);
			const streams = spec.kind === 'openai' || spec.kind === 'scripted';
			await askCompletions(
				policy,
				{
					...{ messages: asked, prefix: '', n: 1, temperature, topP, maxTokens, tokens: 0 },
					seed: randomInt(2 ** 31),
					portions: !streams && capabilities.prefix,
					longest: longestReply,
				},
				{
					signal,
					onPart: ({ text }) => stream.push(text).forEach(report),
					...(tags === null ? {} : { think: tags.think }),
				},
			);
			stream.end().forEach(report);
		} finally {
			held.dispose();
		}
	}

	/**
	 * Returns an estimate: one token per character for models trained from random weights, otherwise one token per four
	 * characters.
	 */
	async provideTokenCount({ spec }: ChatModel, text: string | vscode.LanguageModelChatRequestMessage): Promise<number> {
		const { length } = typeof text === 'string' ? text : turnOf(text).text;
		const run = spec.kind === 'engine' ? spec.run : spec.kind === 'checkpoint' ? dirname(dirname(spec.folder)) : null;
		const engine = run === null ? undefined : this.#needs.store.get(run)?.record?.engine;
		return engine === 'embedded' ? length : Math.ceil(length / 4);
	}
}

function modelOf(spec: PolicySpec, name: string, detail: string): ChatModel {
	const where = spec.kind === 'openai' ? spec.baseUrl : spec.kind === 'engine' ? spec.run : placeOf(spec);
	return {
		spec,
		id: policyId(spec),
		name: spec.kind === 'engine' ? `${name}, current weights` : name,
		family: spec.kind,
		version: spec.kind === 'checkpoint' ? basename(spec.folder) : '1',
		...(detail === '' ? {} : { detail }),
		tooltip: displayText(where, 400),
		maxInputTokens: assumedContext,
		maxOutputTokens: assumedContext,
		capabilities: { imageInput: false, toolCalling: false },
	};
}

const placeOf = (spec: Extract<PolicySpec, { kind: 'checkpoint' | 'scripted' }>): string =>
	spec.kind === 'checkpoint' ? spec.folder : spec.file;

/** Returns the text of a message. Other parts, such as images and tool results, are not passed to policies. */
function turnOf({ role, content }: vscode.LanguageModelChatRequestMessage): ChatTurn {
	const text = content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
	return { role: role === vscode.LanguageModelChatMessageRole.Assistant ? 'assistant' : 'user', text };
}

/** Reports thinking as such if the editor supports it, otherwise as text. */
function reporter(progress: vscode.Progress<vscode.LanguageModelResponsePart>): (part: StreamedPart) => void {
	let thinking = (vscode as unknown as { LanguageModelThinkingPart?: ThinkingPart }).LanguageModelThinkingPart;
	return ({ kind, text }) => {
		if (kind === 'thinking' && thinking !== undefined) {
			try {
				progress.report(new thinking(text));
				return;
			} catch {
				// The editor has the class but does not allow extensions to use it.
				thinking = undefined;
			}
		}
		progress.report(new vscode.LanguageModelTextPart(text));
	};
}
