// Waits for a device in the folder of its argument, says so, and gives it back when its input ends or it is ended.
import { acquireDevice } from '../../../src/runs/deviceQueue.ts';

const [folder = '', whenBusy = 'queue'] = process.argv.slice(2);
console.log('started');
await acquireDevice({
	device: 'cpu',
	folder,
	whenBusy: whenBusy as 'queue' | 'share',
	pollMs: 10,
	onWait: ({ pid }) => console.log(`waits for ${pid}`),
});
console.log('has it');
setInterval(() => {}, 1000);
