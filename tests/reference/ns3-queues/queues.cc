// A queue discipline of ns-3 in front of a link, with TCP flows that answer it. Usage: queues KEY=VALUE ...
//
//   disc      type of the discipline, without "ns3::" and "QueueDisc"
//   set       attributes of the discipline, "NAME=VALUE" with ";" between them; may be empty
//   tcp       congestion control, without "ns3::Tcp"
//   flows     greedy flows; flow i starts at spread * i / flows
//   spread    seconds
//   sparse    1: one more flow sends datagrams of 100 B at 40 kbit/s; 0: none
//   rate_bps, delay_s (one way), mss, duration (seconds)
//   seed      of ns-3's random numbers
//
// Prints one line of JSON: packets that left the discipline, packets that it dropped, in all and from 20 s on, quantiles
// of the time that those that left had waited in ms, the 95 % quantile of the sparse flow, and goodput.
//
// The discipline hands out a packet when the transmitter is free and not before: ns-3's device would hold one packet
// more in a queue of its own, whose wait no discipline sees.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

using Options = std::map<std::string, std::string>;

constexpr uint8_t UDP = 17;
/// By then every flow has begun and left its first slow start.
constexpr double START_S = 20.0;

/// Waiting times in ms of the packets that left; a drop after a dequeue takes the last one back.
struct Waits
{
    std::vector<double> all;
    std::vector<double> sparse;
    bool lastWasSparse = false;
    uint64_t dropped = 0;
    uint64_t droppedLater = 0;

    void Drop()
    {
        ++dropped;
        droppedLater += Simulator::Now() >= Seconds(START_S) ? 1 : 0;
    }

    void Dequeued(Ptr<const QueueDiscItem> item)
    {
        const double waitMs = (Simulator::Now() - item->GetTimeStamp()).GetSeconds() * 1e3;
        const auto ip = DynamicCast<const Ipv4QueueDiscItem>(item);
        lastWasSparse = ip && ip->GetHeader().GetProtocol() == UDP;
        all.push_back(waitMs);
        if (lastWasSparse)
        {
            sparse.push_back(waitMs);
        }
    }

    void DroppedAfter(Ptr<const QueueDiscItem>, const char*)
    {
        Drop();
        all.pop_back();
        if (lastWasSparse)
        {
            sparse.pop_back();
        }
    }

    void DroppedBefore(Ptr<const QueueDiscItem>, const char*)
    {
        Drop();
    }
};

/// The smallest value that so many of all do not exceed; NaN without values.
double
Quantile(std::vector<double> values, double share)
{
    if (values.empty())
    {
        return std::nan("");
    }
    std::sort(values.begin(), values.end());
    const auto at = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<size_t>(at, 1) - 1];
}

/// JSON knows no NaN.
std::string
Number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", value);
    return std::isnan(value) ? "null" : text;
}

void
Begin(Ptr<NetDeviceQueueInterface> gate, Ptr<const Packet>)
{
    gate->GetTxQueue(0)->Stop();
}

void
Wake(Ptr<NetDeviceQueueInterface> gate)
{
    gate->GetTxQueue(0)->Wake();
}

void
End(Ptr<NetDeviceQueueInterface> gate, Ptr<const Packet>)
{
    // The device is still at work on the packet that has just gone.
    Simulator::ScheduleNow(&Wake, gate);
}

void
SetTcpDefaults(const Options& option)
{
    constexpr uint32_t BUFFER = 100'000'000;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::Tcp" + option.at("tcp")));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(std::stoul(option.at("mss"))));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    // ns-3 counts ACKs, Skyhop what they acknowledge: with an ACK for each segment both are the same.
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER));
}

/// Two nodes and the link between them; the discipline stands at the first.
NetDeviceContainer
Link(const NodeContainer& nodes, const Options& option)
{
    PointToPointHelper helper;
    // Without flow control the helper makes no gate between discipline and device: the program makes its own below.
    helper.DisableFlowControl();
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::stoull(option.at("rate_bps")))));
    helper.SetChannelAttribute("Delay", TimeValue(Seconds(std::stod(option.at("delay_s")))));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000000p"));
    const auto devices = helper.Install(nodes);
    const auto device = devices.Get(0);
    const auto gate = CreateObject<NetDeviceQueueInterface>();
    device->AggregateObject(gate);
    device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&Begin, gate));
    device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&End, gate));
    return devices;
}

Ptr<QueueDisc>
Discipline(Ptr<NetDevice> device, const Options& option)
{
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::" + option.at("disc") + "QueueDisc");
    const auto disc = control.Install(device).Get(0);
    std::istringstream parts(option.at("set"));
    for (std::string part; std::getline(parts, part, ';');)
    {
        const auto at = part.find('=');
        disc->SetAttribute(part.substr(0, at), StringValue(part.substr(at + 1)));
    }
    return disc;
}

} // namespace

int
main(int argc, char* argv[])
{
    Options option{{"set", ""}, {"sparse", "0"}, {"seed", "1"}};
    for (int i = 1; i < argc; ++i)
    {
        const std::string argument = argv[i];
        const auto at = argument.find('=');
        option[argument.substr(0, at)] = argument.substr(at + 1);
    }
    const double durationS = std::stod(option.at("duration"));
    const double spreadS = std::stod(option.at("spread"));
    const auto flows = static_cast<uint32_t>(std::stoul(option.at("flows")));
    RngSeedManager::SetRun(std::stoul(option.at("seed")));
    SetTcpDefaults(option);

    NodeContainer nodes;
    nodes.Create(2);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    const auto devices = Link(nodes, option);
    const auto disc = Discipline(devices.Get(0), option);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    const auto right = addresses.Assign(devices).GetAddress(1);

    Waits waits;
    disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Waits::Dequeued, &waits));
    disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Waits::DroppedAfter, &waits));
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Waits::DroppedBefore, &waits));

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows; ++i)
    {
        const auto port = static_cast<uint16_t>(5000 + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(1)).Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(right, port));
        source.SetAttribute("SendSize", UintegerValue(std::stoul(option.at("mss"))));
        source.Install(nodes.Get(0)).Start(Seconds(spreadS * i / flows));
    }
    if (option.at("sparse") == "1")
    {
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(right, 4000));
        source.SetConstantRate(DataRate("40kbps"), 100);
        source.Install(nodes.Get(0)).Start(Seconds(0));
    }

    Simulator::Stop(Seconds(durationS));
    Simulator::Run();

    uint64_t received = 0;
    for (const auto& sink : sinks)
    {
        received += sink->GetTotalRx();
    }
    const auto& stats = disc->GetStats();
    if (stats.nTotalSentPackets != waits.all.size() || stats.nTotalDroppedPackets != waits.dropped)
    {
        std::fprintf(stderr, "the traces do not agree with the discipline's own counts\n");
        return 1;
    }
    std::printf("{\"sent\": %zu, \"dropped\": %lu, \"dropped_later\": %lu, \"median_ms\": %s, \"p95_ms\": %s, \"sparse_p95_ms\": %s, "
                "\"goodput_bps\": %.0f}\n",
                waits.all.size(),
                static_cast<unsigned long>(waits.dropped),
                static_cast<unsigned long>(waits.droppedLater),
                Number(Quantile(waits.all, 0.5)).c_str(),
                Number(Quantile(waits.all, 0.95)).c_str(),
                Number(Quantile(waits.sparse, 0.95)).c_str(),
                8.0 * static_cast<double>(received) / durationS);
    std::fflush(stdout);
    std::_Exit(0);
}
