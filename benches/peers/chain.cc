// ns-3's side of the comparison: TCP flows over a chain of links. Usage: chain KEY=VALUE ...
//
//   duration   simulated seconds
//   hops       links of the chain, "rate_bps,delay_s,waiting_packets,loss" with "/" between them; both directions alike
//   access     "rate_bps,delay_s" of each flow's own link at both ends, or "none": then flows start and end on the chain
//   bottleneck index of the hop whose forward queue is averaged
//   flows, mss, window, initial_window, min_rto, initial_rto, ack_every, ack_delay
//   starts     first and last start in seconds, "first,last": flow i starts at first + (last - first) i / flows
//   mark       simulated second from which CPU time and packet-hops count: the network is built and every flow has begun
//   seed       of the random losses
//   queue_from simulated second from which the queue is averaged
//   count      1: count packet-hops and the queue, which costs time; 0: run bare, to be timed
//
// Prints one line of JSON; what was not counted is null. Goodput is a mean over the whole run.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

using Options = std::map<std::string, std::string>;

/// One link of the chain.
struct Hop
{
    double rateBps;
    double delayS;
    uint32_t waitingPackets;
    double loss;
};

/// Time average of a queue's length.
struct QueueAverage
{
    double packetSeconds = 0.0;
    double sinceS = 0.0;
    uint32_t packets = 0;

    void Change(uint32_t, uint32_t now)
    {
        const double nowS = Simulator::Now().GetSeconds();
        packetSeconds += packets * (nowS - sinceS);
        sinceS = nowS;
        packets = now;
    }

    /// What the queue held before does not count.
    void Forget()
    {
        Change(packets, packets);
        packetSeconds = 0.0;
    }
};

uint64_t g_packetHops = 0;
double g_cpuAtMarkS = 0.0;
QueueAverage g_queue;

void
CountReceived(Ptr<const Packet>)
{
    ++g_packetHops;
}

/// CPU time of this process.
double
CpuSeconds()
{
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

long
PeakRssKib()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            long kib = 0;
            status >> kib;
            return kib;
        }
    }
    return 0;
}

void
Mark()
{
    g_packetHops = 0;
    g_cpuAtMarkS = CpuSeconds();
}

std::vector<double>
Numbers(const std::string& text)
{
    std::vector<double> numbers;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
    {
        numbers.push_back(std::stod(part));
    }
    return numbers;
}

std::vector<Hop>
Hops(const std::string& text)
{
    std::vector<Hop> hops;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, '/');)
    {
        const auto n = Numbers(part);
        hops.push_back({n.at(0), n.at(1), static_cast<uint32_t>(n.at(2)), n.at(3)});
    }
    return hops;
}

void
SetTcpDefaults(const Options& option)
{
    auto number = [&](const char* key) { return std::stod(option.at(key)); };
    const auto mss = static_cast<uint32_t>(number("mss"));
    const auto buffer = static_cast<uint32_t>(number("window")) * mss;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(number("min_rto"))));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(number("initial_rto"))));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(number("initial_rto"))));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(number("initial_window")));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(number("ack_every")));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(number("ack_delay"))));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
}

/// Builds links and gives their ends addresses, one network per link.
class LinkBuilder
{
  public:
    explicit LinkBuilder(bool count)
        : m_count(count)
    {
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
    }

    NetDeviceContainer Connect(Ptr<Node> a, Ptr<Node> b, const Hop& hop)
    {
        PointToPointHelper helper;
        // Without flow control no queue discipline is put before the device, whose queue is then the only one.
        helper.DisableFlowControl();
        helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(hop.rateBps))));
        helper.SetChannelAttribute("Delay", TimeValue(Seconds(hop.delayS)));
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, hop.waitingPackets)));
        const auto devices = helper.Install(a, b);
        for (uint32_t i = 0; i < devices.GetN(); ++i)
        {
            const auto device = DynamicCast<PointToPointNetDevice>(devices.Get(i));
            if (hop.loss > 0.0)
            {
                const auto errors = CreateObject<RateErrorModel>();
                errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
                errors->SetRate(hop.loss);
                device->SetReceiveErrorModel(errors);
            }
            if (m_count)
            {
                device->TraceConnectWithoutContext("MacRx", MakeCallback(&CountReceived));
            }
        }
        m_interfaces = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        return devices;
    }

    /// Address of the end `b` of the link that was built last.
    Ipv4Address LastAddress() const
    {
        return m_interfaces.GetAddress(1);
    }

  private:
    static constexpr auto PACKETS = QueueSizeUnit::PACKETS;
    bool m_count;
    Ipv4AddressHelper m_addresses;
    Ipv4InterfaceContainer m_interfaces;
};

InternetStackHelper
Stack()
{
    // Of ns-3's routings the one whose cost per packet does not grow with the number of nodes: the others search
    // a list with an entry for each flow.
    Ipv4NixVectorHelper routing;
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    return stack;
}

} // namespace

int
main(int argc, char* argv[])
{
    Options option{{"count", "0"}};
    for (int i = 1; i < argc; ++i)
    {
        const std::string argument = argv[i];
        const auto at = argument.find('=');
        option[argument.substr(0, at)] = argument.substr(at + 1);
    }
    const double durationS = std::stod(option.at("duration"));
    const auto flows = static_cast<uint32_t>(std::stoul(option.at("flows")));
    const auto mss = static_cast<uint32_t>(std::stoul(option.at("mss")));
    const bool count = option.at("count") == "1";
    const auto hops = Hops(option.at("hops"));
    const auto bottleneck = std::stoul(option.at("bottleneck"));
    const auto starts = Numbers(option.at("starts"));
    const bool hasAccess = option.at("access") != "none";
    RngSeedManager::SetRun(std::stoul(option.at("seed")));
    SetTcpDefaults(option);

    auto stack = Stack();
    LinkBuilder links(count);
    NodeContainer chain;
    chain.Create(hops.size() + 1);
    stack.Install(chain);
    for (size_t i = 0; i < hops.size(); ++i)
    {
        const auto devices = links.Connect(chain.Get(i), chain.Get(i + 1), hops[i]);
        if (count && i == bottleneck)
        {
            DynamicCast<PointToPointNetDevice>(devices.Get(0))
                ->GetQueue()
                ->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueAverage::Change, &g_queue));
        }
    }
    Ptr<Node> left = chain.Get(0);
    Ptr<Node> right = chain.Get(hops.size());
    Ipv4Address rightAddress = links.LastAddress();
    Hop access{0.0, 0.0, 100'000'000, 0.0};
    if (hasAccess)
    {
        const auto n = Numbers(option.at("access"));
        access.rateBps = n.at(0);
        access.delayS = n.at(1);
    }

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows; ++i)
    {
        if (hasAccess)
        {
            NodeContainer ends;
            ends.Create(2);
            stack.Install(ends);
            left = ends.Get(0);
            right = ends.Get(1);
            links.Connect(left, chain.Get(0), access);
            links.Connect(chain.Get(hops.size()), right, access);
            rightAddress = links.LastAddress();
        }
        const auto port = static_cast<uint16_t>(5000 + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(right).Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(rightAddress, port));
        // One packet of the send buffer is one segment: nothing has to be cut or joined.
        source.SetAttribute("SendSize", UintegerValue(mss));
        auto application = source.Install(left);
        application.Start(Seconds(starts.at(0) + (starts.at(1) - starts.at(0)) * i / flows));
    }

    Simulator::Schedule(Seconds(std::stod(option.at("mark"))), &Mark);
    const double queueFromS = std::stod(option.at("queue_from"));
    Simulator::Schedule(Seconds(queueFromS), &QueueAverage::Forget, &g_queue);
    Simulator::Stop(Seconds(durationS));
    Simulator::Run();
    const double cpuS = CpuSeconds() - g_cpuAtMarkS;

    uint64_t received = 0;
    for (const auto& sink : sinks)
    {
        received += sink->GetTotalRx();
    }
    std::string counted = "\"packet_hops\": null, \"queue_mean_packets\": null";
    if (count)
    {
        g_queue.Change(0, 0);
        counted = "\"packet_hops\": " + std::to_string(g_packetHops) +
                  ", \"queue_mean_packets\": " + std::to_string(g_queue.packetSeconds / (durationS - queueFromS));
    }
    std::printf("{\"cpu_s\": %.6f, \"peak_rss_kib\": %ld, %s, \"goodput_bps\": %.1f}\n",
                cpuS,
                PeakRssKib(),
                counted.c_str(),
                8.0 * static_cast<double>(received) / durationS);
    std::fflush(stdout);
    // The process ends here: taking the network apart is no part of the work.
    std::_Exit(0);
}
