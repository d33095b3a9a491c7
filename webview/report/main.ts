import './report.css';
import { reportEventSchema, reportRequests } from '../../src/protocol/reportMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { ReportModel } from './reportModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: reportEventSchema, requests: reportRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new ReportModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved() };
});
