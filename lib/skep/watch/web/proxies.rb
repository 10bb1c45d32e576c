# frozen_string_literal: true

require "ipaddr"

module Skep
  module Watch
    class Web
      # The proxies whose X-Forwarded-For is believed. Each one adds the address that it was asked
      # from, so the client's is the last that no trusted proxy has.
      #
      #   proxies = Proxies.new(["127.0.0.1", "10.0.0.0/8"])
      #   proxies.client("127.0.0.1", "192.0.2.66, 192.0.2.7, 10.1.2.3")   # => "192.0.2.7"
      class Proxies
        MOST = 64 # characters of an address
        private_constant :MOST

        # Raises ArgumentError for what is no address and no network.
        def initialize(networks) #: (Array[String]) -> void
          @networks = networks.map { |text| IPAddr.new(text) }
        rescue IPAddr::Error => e
          raise ArgumentError, "proxies are given by addresses such as 10.0.0.0/8: #{e.message}"
        end

        def client(remote, forwarded) #: (String?, String?) -> String
          hops = [*forwarded.to_s.split(",").map { |hop| plain(hop) }, remote.to_s]
          client = hops.reverse.find { |hop| !trusted?(hop) } || hops.first
          client[0, MOST]
        end

        private

        # Some add a port.
        def plain(hop) = hop.strip.sub(/\A\[([^\]]*)\](?::\d+)?\z|\A([\d.]+):\d+\z/, '\1\2')

        def trusted?(hop)
          return false if @networks.empty?

          address = IPAddr.new(hop).native
          @networks.any? { |network| network.include?(address) }
        rescue IPAddr::Error # no address
          false
        end
      end
      private_constant :Proxies
    end
  end
end
