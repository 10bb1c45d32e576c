# frozen_string_literal: true

require "ipaddr"

module Skep
  class Web
    module HTTP
      # The proxies whose X-Forwarded-For is believed.
      #
      #   proxies = TrustedProxies.new(["127.0.0.1", "10.0.0.0/8"])
      #   proxies.include?("10.1.2.3")   # => true
      class TrustedProxies
        # Raises ArgumentError if one of them is neither an address nor a network.
        def initialize(networks)
          @networks = networks.map { |text| IPAddr.new(text) }
        rescue IPAddr::Error => e
          raise ArgumentError, "proxies are given by addresses such as 10.0.0.0/8: #{e.message}"
        end

        def empty? = @networks.empty?

        def include?(text)
          return false if empty?

          address = IPAddr.new(text.to_s).native
          @networks.any? { |network| network.include?(address) }
        rescue IPAddr::Error # not an address
          false
        end
      end
    end
  end
end
