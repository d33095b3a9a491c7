import type * as v from 'valibot';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { decode, decodeOrThrow, type Schema } from '../../protocol/decode.ts';
import {
	panelMessageSchema,
	type RequestTable,
	type WebviewRequest,
	type WebviewResponse,
	type WebviewShown,
	type WebviewStateChange,
} from '../../protocol/webviewMessages.ts';
import type { OpenViews, ReturningView } from '../openViews.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { appHtml } from './webviewHtml.ts';

/** A webview app: its bundle `dist/webview/<name>.js|css`, its view type, and its commands and requests. */
export interface PanelApp<Command, Requests extends RequestTable> {
	readonly name: string;
	readonly viewType: string;
	readonly commands: Schema<Command>;
	readonly requests: Requests;
}

/** Returns the options for every panel: only our own scripts, and a page that is retained while its tab is hidden. */
export function webviewOptions(extension: vscode.Uri): vscode.WebviewOptions & vscode.WebviewPanelOptions {
	return {
		enableScripts: true,
		localResourceRoots: [vscode.Uri.joinPath(extension, 'dist', 'webview')],
		// Rebuilding a page takes a second or two and would lose its input and scroll position.
		retainContextWhenHidden: true,
	};
}

/** Handlers for an app's requests, one per method. */
export type RequestHandlers<T extends RequestTable> = {
	readonly [M in keyof T]: (
		params: v.InferOutput<T[M]['params']>,
	) => v.InferInput<T[M]['result']> | Promise<v.InferInput<T[M]['result']>>;
};

export interface PanelContext {
	readonly extensionUri: vscode.Uri;
	readonly log: vscode.LogOutputChannel;
	/** Shows text from a run in read-only tabs. */
	readonly documents: ReadOnlyDocuments;
	/** Panels that can restore an earlier state. Each panel registers itself. */
	readonly views: OpenViews;
}

/**
 * Base class for panels. The webview is retained while its tab is hidden ({@link webviewOptions}). It still receives
 * all events but does not draw, so filters, inputs, scroll positions, and output in progress are intact when it is
 * shown again. An app posts `ready` whenever it has (re)started, for example after a window reload, and its panel
 * responds with a complete snapshot.
 */
export abstract class AppPanel<Event, Command, Requests extends RequestTable>
	extends Disposable
	implements ReturningView
{
	protected readonly log: vscode.LogOutputChannel;
	readonly #panel: vscode.WebviewPanel;
	readonly #app: PanelApp<Command, Requests>;
	#listening = false;
	#load: () => void = () => undefined;
	/** Visibility last reported to the page; initially visible. */
	#shown = true;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, app: PanelApp<Command, Requests>) {
		super();
		this.#panel = panel;
		this.#app = app;
		this.log = context.log;
		this.register(panel);
		this.register(panel.onDidDispose(() => this.dispose()));
		this.register(panel.webview.onDidReceiveMessage((message: unknown) => this.#receive(message)));
		this.register(panel.onDidChangeViewState(() => this.#reportShown()));
		this.register(context.views.add(this));
	}

	/** Loads the page. Call this at the end of the subclass constructor, once the panel can respond. */
	protected load(context: PanelContext): void {
		const root = vscode.Uri.joinPath(context.extensionUri, 'dist', 'webview');
		const { webview } = this.#panel;
		const uri = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString();
		const icon = (theme: 'light' | 'dark'): vscode.Uri =>
			vscode.Uri.joinPath(context.extensionUri, 'media', 'icons', `${this.#app.name}-${theme}.svg`);
		this.#panel.iconPath = { light: icon('light'), dark: icon('dark') };
		webview.options = { enableScripts: true, localResourceRoots: [root] };
		this.#load = () => {
			webview.html = appHtml(
				{ cspSource: webview.cspSource, script: uri(`${this.#app.name}.js`), style: uri(`${this.#app.name}.css`) },
				this.#panel.title,
			);
		};
		this.#load();
	}

	get active(): boolean {
		return this.#panel.active;
	}

	keepState(): void {
		this.#postState('keep');
	}

	/** Reloads the page with its saved state, as after a window reload. */
	restoreState(): void {
		this.#postState('replace');
	}

	#postState(action: WebviewStateChange['action']): void {
		if (!this.#listening || this.disposed) return;
		void this.#panel.webview.postMessage({ kind: 'state', action } satisfies WebviewStateChange);
	}

	/** Whether the app has started. */
	protected get listening(): boolean {
		return this.#listening;
	}

	protected set title(title: string) {
		if (this.#panel.title !== title) this.#panel.title = title;
	}

	reveal(): void {
		this.#panel.reveal(undefined, false);
	}

	/**
	 * Posts an event, or drops it if the app has not started, because it will request a snapshot. Resolves once the event
	 * is sent.
	 */
	protected post(event: Event): PromiseLike<unknown> {
		if (!this.#listening || this.disposed) return Promise.resolve(false);
		// Rejects if the panel was closed in the meantime.
		return this.#panel.webview.postMessage({ kind: 'event', event }).then(
			(sent) => sent,
			() => false,
		);
	}

	/** Handles a command from the app; `ready` requests a snapshot. */
	protected abstract onCommand(command: Command): void;

	/** Called when the page is hidden or shown again. */
	protected onShown(_shown: boolean): void {}

	protected abstract readonly handlers: RequestHandlers<Requests>;

	#receive(message: unknown): void {
		const decoded = decode(panelMessageSchema, message);
		if (!decoded.ok) {
			this.log.warn(`${this.#app.name}: invalid message: ${decoded.faults[0]?.message ?? ''}`);
			return;
		}
		if (!this.#listening) {
			this.#listening = true;
			this.#reportShown();
		}
		if (decoded.value.kind === 'replaced') {
			this.#load();
			return;
		}
		if (decoded.value.kind === 'request') {
			void this.#answer(decoded.value);
			return;
		}
		const command = decode(this.#app.commands, decoded.value.event);
		if (command.ok) this.onCommand(command.value);
		else this.log.warn(`${this.#app.name}: invalid command: ${command.faults[0]?.message ?? ''}`);
	}

	#reportShown(): void {
		const { visible: shown } = this.#panel;
		if (shown === this.#shown || !this.#listening) return;
		this.#shown = shown;
		void this.#panel.webview.postMessage({ kind: 'shown', shown } satisfies WebviewShown);
		this.onShown(shown);
	}

	/** Responds to every request with either a result or a failure. */
	async #answer({ id, method, params }: WebviewRequest): Promise<void> {
		let response: WebviewResponse;
		try {
			if (!Object.hasOwn(this.#app.requests, method)) {
				throw new Failure('unsupported', `The view sent an unknown request, "${method}".`);
			}
			const decoded = decodeOrThrow(
				(this.#app.requests[method] as RequestTable[string]).params,
				params,
				`The request ${method}`,
			);
			const handler = this.handlers[method] as (params: unknown) => unknown;
			response = { kind: 'response', id, ok: true, result: await handler(decoded) };
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason === 'internal') this.log.error(`${this.#app.name}: ${method}`, failure);
			response = { kind: 'response', id, ok: false, error: failure.toJSON() };
		}
		if (!this.disposed) void this.#panel.webview.postMessage(response);
	}
}

/** Base class for panels that show a single run. */
export abstract class RunPanel<Event, Command, Requests extends RequestTable> extends AppPanel<
	Event,
	Command,
	Requests
> {
	readonly runFolder: string;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, app: PanelApp<Command, Requests>, runFolder: string) {
		super(panel, context, app);
		this.runFolder = runFolder;
	}
}
