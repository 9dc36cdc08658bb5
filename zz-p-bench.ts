import { observeRequest } from './src/observe/observed-request.ts';
import { RecentDecisions } from './src/observe/recent-decisions.ts';
import { parseRequestInfo } from './src/apimachinery/request-info.ts';
const info = parseRequestInfo('GET','/api/v1/pods'); const signal = new AbortController().signal;
const local: any = {decision:'local',reason:'ServedLocally',candidates:[]}; const dest: any={id:'a'};
const other = { begin: () => ({ accepted(){}, decided(){}, answered(){}, finished(){}, attemptBegun(){}, attemptAnswered(){}, identified(){} }) };
function pass(obs: any[]) { let over=()=>{}; const inbound: any={method:'GET',target:'/api/v1/pods?limit=5',headers:[],connection:{},body:()=>null,signal,onFinished(l:any){over=l}};
 const o=observeRequest(obs,inbound); o?.accepted(info); o?.identified({} as any); o?.decided(local); o?.attemptBegun(dest); o?.attemptAnswered(200); o?.answered(200); over(); }
function m(obs:any[]){const s=process.cpuUsage(); for(let i=0;i<500000;i++)pass(obs); const d=process.cpuUsage(s); return (d.user+d.system)/500000;}
const rd=new RecentDecisions(); const a:number[]=[],b:number[]=[];
for(let r=0;r<9;r++){ a.push(m([other])); b.push(m([other,rd])); }
const med=(x:number[])=>x.sort((p,q)=>p-q)[4]; console.log('one observer',med(a),'with recent',med(b),'us');
