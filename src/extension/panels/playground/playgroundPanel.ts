import { join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { apiCall } from '../../../core/playground/exchangeText.ts';
import { exchangeOf } from '../../../core/playground/history.ts';
import { decode } from '../../../protocol/decode.ts';
import {
	askedAlternatives,
	type ChosenPolicy,
	type Exchange,
	type PlaygroundCommand,
	type PlaygroundEvent,
	type PlaygroundSample,
	type PlaygroundSide,
	playgroundCommandSchema,
	playgroundRequests,
	playgroundStateSchema,
} from '../../../protocol/playgroundMessages.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';
import { RewardHosts } from '../../../rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../../rewards/rewardPrograms.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import type { Notices } from '../../notices.ts';
import { type OpeningNeeds, openInWindow, policiesForbidden } from '../../policies/openInWindow.ts';
import { nameOfPolicy } from '../../policies/policyPresentation.ts';
import type { RewardEnvironment } from '../../rewards/rewardEnvironment.ts';
import type { RewardFileList } from '../../rewards/rewardFileList.ts';
import type { RunStore } from '../../runStore.ts';
import { displayText, nameOf } from '../../runView.ts';
import { askPolicy } from '../../search/policyQuestion.ts';
import { settings } from '../../settings.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { AnswerChecker } from './answerChecker.ts';
import { bareSpec } from './bareSpec.ts';
import { describePolicy, runOf } from './describePolicy.ts';
import { HeldPolicies } from './heldPolicies.ts';
import { PlaygroundSession } from './playgroundSession.ts';
import { type SaveCaseAnswers, saveCase } from './saveCase.ts';

export interface PlaygroundNeeds extends PanelContext, OpeningNeeds {
	readonly store: RunStore;
	readonly notices: Notices;
	readonly files: RewardFileList;
	readonly environment: RewardEnvironment;
}

/** Initial state of a playground. */
export interface PlaygroundPlace {
	/** One or two policies; if absent, they are chosen in the playground. */
	readonly policies?: readonly PolicySpec[];
}

const app = {
	name: 'playground',
	viewType: panelTypes.playground,
	commands: playgroundCommandSchema,
	requests: playgroundRequests,
} as const;

const title = 'Playground';

interface InitialState {
	readonly policies: readonly [ChosenPolicy | null, ChosenPolicy | null];
	readonly exchanges: readonly Exchange[];
	readonly current: number | null;
}

/** A panel that samples answers from policies. Its open policies are not shared and close with the panel. */
export class PlaygroundPanel extends AppPanel<PlaygroundEvent, PlaygroundCommand, typeof playgroundRequests> {
	readonly #needs: PlaygroundNeeds;
	readonly #session: PlaygroundSession;
	protected readonly handlers: RequestHandlers<typeof playgroundRequests>;

	constructor(panel: vscode.WebviewPanel, needs: PlaygroundNeeds, started: InitialState) {
		super(panel, needs, app);
		this.#needs = needs;
		const held = this.register(
			new HeldPolicies({ open: (spec, signal) => openInWindow(bareSpec(spec), needs, { signal, rawPrompts: true }) }),
		);
		const checker = this.register(new AnswerChecker({ hosts: () => openHosts(needs) }));
		this.#session = this.register(
			new PlaygroundSession(
				{
					held,
					post: (event) => void this.post(event),
					forbidden: policiesForbidden,
					check: (what, signal) => checker.check(what, signal),
					onAsked: ({ spec }) => void needs.policies().then(({ store }) => store.used(spec)),
				},
				started,
			),
		);
		this.#name();
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#session.postPolicies()));
		this.handlers = {
			check: async ({ exchange, expected }) => {
				await this.#session.check(exchange, expected);
				return {};
			},
			saveCase: async (place) => {
				const file = await this.saveCase(place);
				return { saved: file !== null, file: file ?? '' };
			},
			copy: async ({ as, ...place }) => {
				const { exchange, side, sample } = this.#found(place);
				await vscode.env.clipboard.writeText(as === 'api' ? apiCall(exchange, side) : sample.text);
				return {};
			},
		};
		this.load(needs);
	}

	/** Exposed for tests and for commands in other extensions. */
	get session(): PlaygroundSession {
		return this.#session;
	}

	/** Assigns a policy to a side. */
	async choose(side: 0 | 1, spec: PolicySpec): Promise<void> {
		const chosen = await describePolicy(spec, await nameIn(spec, this.#needs));
		const [first, second] = this.#session.policies;
		this.#session.setPolicies(side === 0 || first === null ? [chosen, second] : [first, chosen]);
		this.#name();
	}

	/** Assigns the first two policies to the two sides. */
	async chooseAll(policies: readonly PolicySpec[]): Promise<void> {
		for (const [side, spec] of policies.slice(0, 2).entries()) await this.choose(side === 0 ? 0 : 1, spec);
	}

	async saveCase(
		place: { readonly exchange: number; readonly side: number; readonly sample: number },
		answers?: SaveCaseAnswers,
	): Promise<string | null> {
		const { exchange, side, sample } = this.#found(place);
		return saveCase(exchange, side, sample, this.#needs, answers);
	}

	protected override onCommand(command: PlaygroundCommand): void {
		const session = this.#session;
		try {
			switch (command.type) {
				case 'ready':
					session.begin();
					break;
				case 'ask':
					session.ask(command);
					break;
				case 'branch':
					session.branch(command);
					break;
				case 'stop':
					session.stop();
					break;
				case 'choosePolicy':
					this.#settle(this.#choose(command.side));
					break;
				case 'addServer':
					void vscode.commands.executeCommand<PolicySpec | undefined>(commandIds.addPolicy).then((spec) => {
						if (spec !== undefined && !this.disposed) this.#settle(this.choose(0, spec));
					});
					break;
				case 'playEpisode':
					this.#playEpisode(command.side);
					break;
				case 'removeSide':
					session.setPolicies([session.policies[0], null]);
					this.#name();
					break;
				case 'swap':
					session.setPolicies([session.policies[1], session.policies[0]]);
					this.#name();
					break;
				case 'show':
					session.show(command.exchange);
					break;
				case 'undo':
				case 'redo':
				case 'clear':
					session[command.type]();
					break;
				case 'fault':
					this.log.error(`playground: ${command.message}`);
					break;
			}
		} catch (error) {
			this.#needs.notices.failure(error);
		}
	}

	/** Opens *New Search* for one episode. In its tree, users can see the turns and force alternative tokens. */
	#playEpisode(side: 0 | 1): void {
		const policy = this.#session.policies[side]?.spec;
		if (policy === undefined) return;
		const episode = { strategy: 'best-of-n', params: { n: 1 }, guide: { use: 'environment' } };
		const search = { policy, ...episode, sampling: { tokens: askedAlternatives } };
		void vscode.commands.executeCommand(commandIds.newSearch, search);
	}

	async #choose(side: 0 | 1): Promise<void> {
		const reason = policiesForbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
		const { store, policies } = this.#needs;
		const question = {
			title: side === 0 ? 'Playground: policy' : 'Playground: second policy',
			placeholder: 'Select a policy',
			step: 1,
			steps: 1,
		};
		await store.ready;
		const answer = await askPolicy(question, store, policies, this.#session.policies[side]?.spec ?? null);
		if (answer === 'back' || answer === 'cancel' || this.disposed) return;
		await this.choose(side, answer.value);
	}

	#found({ exchange: id, side: at, sample: index }: { exchange: number; side: number; sample: number }): {
		exchange: Exchange;
		side: PlaygroundSide;
		sample: PlaygroundSample;
	} {
		const exchange = exchangeOf(this.#session.history, id);
		const side = exchange?.sides[at];
		const sample = side?.samples[index];
		if (exchange === undefined || side === undefined || sample === undefined) {
			throw new Failure('missing', 'This completion no longer exists.', 'Try again.');
		}
		return { exchange, side, sample };
	}

	#name(): void {
		const [first] = this.#session.policies;
		this.title = first === null ? title : `${title}: ${displayText(first.name, 60)}`;
	}

	#settle(work: Promise<void>): void {
		work.catch((error: unknown) => this.#needs.notices.failure(error));
	}
}

async function nameIn(spec: PolicySpec, { store }: Pick<PlaygroundNeeds, 'store'>): Promise<string> {
	const run = runOf(spec);
	const view = run === null ? undefined : store.get(run);
	return nameOfPolicy({ spec, run: view === undefined ? null : nameOf(view) });
}

/** Starts a playground's scoring processes, with the same programs and rules as verification. */
async function openHosts({ extension, environment: of }: PlaygroundNeeds): Promise<RewardHosts> {
	const reason = policiesForbidden();
	if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
	const environment = await of.of();
	const programs = await findRewardPrograms({
		node: settings.nodePath(),
		python: environment.REASONING_LAB_PYTHON ?? null,
	});
	return new RewardHosts(programs, {
		folder: join(extension.fsPath, 'dist'),
		environment: { ...process.env, ...environment },
	});
}

/** A newly opened or restored playground. */
type Opened = PlaygroundPlace | { readonly started: InitialState };

/** Creates the panel set for playgrounds. Any number can be open independently. */
export function playgroundPanels(needs: PlaygroundNeeds): PanelSet<PlaygroundPanel, Opened> {
	const empty: InitialState = { policies: [null, null], exchanges: [], current: null };
	return new PanelSet<PlaygroundPanel, Opened>(needs.extensionUri, {
		viewType: panelTypes.playground,
		what: 'this playground',
		key: () => null,
		title: () => title,
		create(panel, opened) {
			if ('started' in opened) return new PlaygroundPanel(panel, needs, opened.started);
			const made = new PlaygroundPanel(panel, needs, empty);
			made.chooseAll(opened.policies ?? []).catch((error: unknown) => needs.notices.failure(error));
			return made;
		},
		// The saved state only affects what is shown. Policies in it are opened when the user asks a question.
		restore(state) {
			const saved = decode(playgroundStateSchema, state);
			return { started: saved.ok ? saved.value : empty };
		},
	});
}
