import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import * as v from 'valibot';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { parseAddress } from '../../../core/address/dataAddress.ts';
import { withAddresses } from '../../../core/address/findAddresses.ts';
import { readSmallFile } from '../../../files/safeFile.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	checkedCitationSchema,
	longestReport,
	type ReportCitation,
	type ReportCommand,
	type ReportEvent,
	reportCommandSchema,
	reportRequests,
	reportStateSchema,
} from '../../../protocol/reportMessages.ts';
import { McpClient } from '../../agents/mcpClient.ts';
import { requireServerProgram, type ServerTools } from '../../agents/serverTools.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';

const app = {
	name: 'report',
	viewType: panelTypes.report,
	commands: reportCommandSchema,
	requests: reportRequests,
} as const;

/** Rows per page in the server's responses. */
const pageRows = 200;
/** Maximum number of points in a curve, based on the width of charts in reports. */
const curvePoints = 200;

const citationsPageSchema = v.object({
	items: v.array(checkedCitationSchema),
	next_cursor: v.optional(v.number()),
});
const tableSchema = v.object({ items: v.array(v.tuple([v.number(), v.nullable(v.number())])) });

/** Panel that renders a Markdown report with checked citations and charts. Follows the file. */
class ReportPanel extends AppPanel<ReportEvent, ReportCommand, typeof reportRequests> {
	readonly #tools: ServerTools;
	readonly #path: string;
	#checking: AbortController | null = null;

	protected readonly handlers: RequestHandlers<typeof reportRequests> = {
		curve: ({ address }) => this.#curve(address),
	};

	/** @param tools the MCP server's tools, which check citations and read curves */
	constructor(panel: vscode.WebviewPanel, context: PanelContext, tools: ServerTools, path: string) {
		super(panel, context, app);
		this.#tools = tools;
		this.#path = path;
		const pattern = new vscode.RelativePattern(vscode.Uri.file(dirname(path)), basename(path));
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(pattern));
		for (const event of [watcher.onDidChange, watcher.onDidCreate, watcher.onDidDelete]) {
			this.register(event(() => void this.#send()));
		}
		this.register({ dispose: () => this.#checking?.abort() });
		this.load(context);
	}

	protected override onCommand(command: ReportCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#send();
				break;
			case 'open':
				void vscode.commands.executeCommand(commandIds.openAddress, command.address);
				break;
			case 'source':
				void vscode.window.showTextDocument(vscode.Uri.file(this.#path), { preview: true });
				break;
			case 'fault':
				this.log.error(`report: ${command.message}`);
				break;
		}
	}

	async #send(): Promise<void> {
		this.#checking?.abort();
		const checking = new AbortController();
		this.#checking = checking;
		const { signal } = checking;
		try {
			const text = withAddresses(await readReport(this.#path));
			if (signal.aborted) return;
			void this.post({ type: 'report', path: this.#path, name: displayText(basename(this.#path), 200), text });
			void this.post(await this.#checked(text, signal));
		} catch (error) {
			if (signal.aborted) return;
			const message = Failure.from(error, `Cannot read ${basename(this.#path)}`)
				.toString()
				.slice(0, 2000);
			void this.post({ type: 'missing', path: this.#path, message });
		}
	}

	async #checked(text: string, signal: AbortSignal): Promise<ReportEvent> {
		const citations: ReportCitation[] = [];
		try {
			for (let cursor: number | undefined = 0; cursor !== undefined; ) {
				const answer = await this.#tools.call('check_citations', { text, limit: pageRows, cursor }, signal);
				const page: v.InferOutput<typeof citationsPageSchema> = v.parse(citationsPageSchema, JSON.parse(answer));
				citations.push(...page.items);
				cursor = page.next_cursor;
			}
			return { type: 'checked', citations };
		} catch (error) {
			return { type: 'unchecked', message: Failure.from(error).toString().slice(0, 2000) };
		}
	}

	async #curve(text: string): Promise<{ points: [number, number | null][] }> {
		const address = parseAddress(text);
		if (address.kind !== 'metric') {
			throw new Failure('invalid', 'Charts can only show metrics.', 'Use rl://RUN/metric/NAME.');
		}
		const question = { run: address.run, names: [address.metric], as: 'table', points: curvePoints, limit: pageRows };
		const answer = await this.#tools.call('read_metrics', question, new AbortController().signal);
		return { points: decodeOrThrow(tableSchema, JSON.parse(answer), 'The curve').items };
	}
}

/** Reads a report. Fails for links, other non-regular files, and files longer than {@link longestReport} characters. */
async function readReport(path: string): Promise<string> {
	const text = await readSmallFile(dirname(path), basename(path), 4 * longestReport);
	if (text.length <= longestReport) return text;
	throw new Failure('full', `${basename(path)} is too long to show as a report.`, 'Open it as text.');
}

/** Open reports, one per file, and the server that reads their data. The server starts with the first report. */
class ReportPanels extends PanelSet<ReportPanel, string> {
	constructor(context: PanelContext) {
		const tools = new McpClient(() => requireServerProgram(context.extensionUri));
		super(context.extensionUri, {
			viewType: panelTypes.report,
			what: 'this report',
			key: normalize,
			title: (path) => displayText(basename(path, '.md'), 60),
			create: (panel, path) => new ReportPanel(panel, context, tools, normalize(path)),
			restore(state) {
				const { path } = decodeOrThrow(reportStateSchema, state, 'The saved view state');
				if (isAbsolute(path)) return join(path);
				throw new Failure(
					'invalid',
					'The saved view state does not contain an absolute path.',
					'Open the report again.',
				);
			},
		});
		this.register(tools);
	}
}

export const reportPanels = (context: PanelContext): PanelSet<ReportPanel, string> => new ReportPanels(context);
